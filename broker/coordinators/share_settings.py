"""The settings of share groups as fetches and acknowledgements need them, several times in each.

They are made from their texts once for each group, and remembered with the layers of the configuration that
they depend on: a group whose own settings, or whose server's, have changed gets new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker.config import group_configs
from broker.config.features import SHARE_VERSION, level_of
from broker.config.queue_keys import (
    AUTO_ACCEPT,
    AVOID_LAST,
    CLASSES,
    FILTER,
    IN_FLIGHT_BYTES,
    MEMBER_RECORDS,
    STEAL_IDLE,
    TIMING,
)
from broker.coordinators.group_settings import at_limit, bounded, number, own_number
from groups.share.delivery import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.catalogue.metadata import Metadata
    from broker.config.config_layers import ConfigLayers

REMEMBERED_MAX: Final = 10_000
"""The groups with settings of their own that are remembered, each with 500 bytes; then all are forgotten."""


class ShareReading(NamedTuple):
    """The settings of a share group that decide what its members may read and say."""

    read_committed: bool
    may_renew: bool


class QueueSettings(NamedTuple):
    """The settings of a share group that Kafka's groups do not have, as far as fetches need them."""

    member_records_max: int = 0
    """The most records that a member has at a time; 0: any number."""
    auto_accepts: bool = False
    filter: str = ""
    """As the group has it (broker/config/header_filter.py)."""
    is_timed: bool = False
    """Whether records are delivered neither before nor after moments in their headers."""
    classes: int = 0
    """The number of classes of records; 0: none."""
    steal_idle_ms: int = 0
    """The time after which records of a member that sits idle may be taken over; 0: never."""

    @property
    def chooses(self) -> bool:
        """Whether records are looked at one by one before they are delivered."""
        return bool(self.filter) or self.is_timed or self.classes > 1


NO_QUEUE_SETTINGS: Final = QueueSettings()


class ShareSettings(NamedTuple):
    """All of these settings of one group."""

    limits: Limits
    reading: ShareReading
    queue: QueueSettings


class _Remembered(NamedTuple):
    """The settings of a group, and what they were made of."""

    overrides: Mapping[str, str] | None
    share_level: int
    settings: ShareSettings


def share_settings(metadata: Metadata, group_id: str) -> ShareSettings:
    """Return the settings of a group, within the bounds now in effect."""
    layers = metadata.live_config.layers
    overrides = metadata.catalogue.group_configs.get(group_id)
    level = level_of(SHARE_VERSION, metadata.catalogue.feature_levels)
    # All groups without settings of their own have the same; no group has an empty name.
    name = group_id if overrides else ""
    found = layers.memory.get(name)
    if isinstance(found, _Remembered) and found.overrides is overrides and found.share_level == level:
        return found.settings
    if len(layers.memory) >= REMEMBERED_MAX:
        layers.memory.clear()
    made = ShareSettings(
        _limits(metadata, group_id), _reading(overrides or {}, layers), _queue(overrides, layers)
    )
    layers.memory[name] = _Remembered(overrides, level, made)
    return made


def limits_of(metadata: Metadata, group_id: str) -> Limits:
    """Return the limits of a group's deliveries."""
    return share_settings(metadata, group_id).limits


def share_reading(metadata: Metadata, group_id: str) -> ShareReading:
    """Return the settings that decide what members may read and say."""
    return share_settings(metadata, group_id).reading


def queue_settings(metadata: Metadata, group_id: str) -> QueueSettings:
    """Return the settings of a group that Kafka's groups do not have."""
    return share_settings(metadata, group_id).queue


def _limits(metadata: Metadata, group_id: str) -> Limits:
    return Limits(
        lock_ms=bounded(metadata, group_id, "share.record.lock.duration.ms"),
        delivery_count_max=bounded(metadata, group_id, "share.delivery.count.limit"),
        in_flight_max=bounded(metadata, group_id, "share.partition.max.record.locks"),
        at_limit=at_limit(metadata, group_id),
        in_flight_bytes_max=own_number(metadata, group_id, IN_FLIGHT_BYTES),
        avoid_last_ms=own_number(metadata, group_id, AVOID_LAST),
    )


def _reading(overrides: Mapping[str, str], layers: ConfigLayers) -> ShareReading:
    isolation = group_configs.value("share.isolation.level", overrides, layers)
    may_renew = group_configs.value("share.renew.acknowledge.enable", overrides, layers)
    return ShareReading(isolation == "read_committed", may_renew is True)


def _queue(overrides: Mapping[str, str] | None, layers: ConfigLayers) -> QueueSettings:
    if not overrides:
        return NO_QUEUE_SETTINGS
    return QueueSettings(
        number(group_configs.value(MEMBER_RECORDS, overrides, layers)),
        group_configs.value(AUTO_ACCEPT, overrides, layers) is True,
        overrides.get(FILTER, ""),
        group_configs.value(TIMING, overrides, layers) is True,
        number(group_configs.value(CLASSES, overrides, layers)),
        number(group_configs.value(STEAL_IDLE, overrides, layers)),
    )
