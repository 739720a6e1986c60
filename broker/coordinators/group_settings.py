"""The settings of the group coordinator, from configuration keys."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.config import group_configs
from broker.config.features import DEAD_LETTERS, SHARE_VERSION, level_of
from broker.config.group_keys import BOUNDS, GROUP_KEYS
from broker.config.group_limits import clamped
from broker.config.queue_keys import (
    ANSWERS_TOPIC,
    COPY_HEADERS,
    COPY_RECORD,
    DEAD_LETTER_POLICY,
    DEAD_LETTER_TOPIC,
    REAR_ENABLE,
)
from groups.config import NO_SETTINGS, GroupConfig, GroupSettings, MigrationPolicy
from groups.share.config import ShareGroupConfig
from groups.share.states import AtLimit

if TYPE_CHECKING:
    from broker.catalogue.live_config import LiveConfig
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Catalogue

_OF_ONE_GROUP = {
    "consumer_session_timeout_ms": ("consumer.session.timeout.ms",),
    "consumer_heartbeat_interval_ms": ("consumer.heartbeat.interval.ms",),
    # Two names of one setting; the first one that is set takes effect.
    "consumer_assignment_interval_ms": ("kawal.rebalance.interval.ms", "consumer.assignment.interval.ms"),
    "kawal_group_assignor": ("kawal.group.assignor",),
}


def group_config(config: LiveConfig) -> GroupConfig:
    """Return the settings of all groups; every field of GroupConfig is a server key of the same name."""
    values: dict[str, Any] = {
        field.name: config.current.value(field.name.replace("_", ".")) for field in fields(GroupConfig)
    }
    values["group_consumer_migration_policy"] = MigrationPolicy(values["group_consumer_migration_policy"])
    return GroupConfig(**values)


def group_settings(catalogue: Catalogue, config: LiveConfig, group_id: str) -> GroupSettings:
    """Return the settings that clients have made for one group, within the bounds now in effect."""
    overrides = catalogue.group_configs.get(group_id)
    if not overrides:
        return NO_SETTINGS
    values: dict[str, Any] = {}
    for field, names in _OF_ONE_GROUP.items():
        name = next((name for name in names if name in overrides), None)
        if name is not None:
            value = group_configs.value(name, overrides, config.layers)
            bounded = names[-1].removeprefix("consumer.")
            values[field] = clamped(config.current, bounded, value) if isinstance(value, int) else value
    return GroupSettings(**values)


def share_group_config(metadata: Metadata, group_id: str) -> ShareGroupConfig:
    """Return the settings of a share group's members, within the bounds now in effect."""
    return ShareGroupConfig(
        group_share_max_size=number(metadata.live_config.layers.value("group.share.max.size")),
        group_share_session_timeout_ms=bounded(metadata, group_id, "share.session.timeout.ms"),
        group_share_heartbeat_interval_ms=bounded(metadata, group_id, "share.heartbeat.interval.ms"),
        group_share_assignment_interval_ms=bounded(metadata, group_id, "share.assignment.interval.ms"),
    )


class DeadLetterSettings(NamedTuple):
    """The settings of a share group for records that it gives up; without a topic they are archived."""

    topic: str
    copies_records: bool
    copies_headers: bool
    answers_topic: str = ""
    """The topic in which workers tell why they could not process records."""
    has_rear: bool = False
    """Without a topic, letters go to the tail queue of each topic."""


def dead_letter_settings(metadata: Metadata, group_id: str) -> DeadLetterSettings:
    """Return where a group's dead letters go, and what is in them."""
    layers = metadata.live_config.layers
    overrides = metadata.catalogue.group_configs.get(group_id) or {}
    topic = group_configs.value(DEAD_LETTER_TOPIC, overrides, layers)
    assert isinstance(topic, str)
    policy = group_configs.value(DEAD_LETTER_POLICY, overrides, layers)
    if policy != AtLimit.TAIL.value:
        topic = ""
    return DeadLetterSettings(
        topic,
        group_configs.value(COPY_RECORD, overrides, layers) is True,
        group_configs.value(COPY_HEADERS, overrides, layers) is True,
        overrides.get(ANSWERS_TOPIC, ""),
        policy == AtLimit.TAIL.value and group_configs.value(REAR_ENABLE, overrides, layers) is True,
    )


def own_number(metadata: Metadata, group_id: str, name: str) -> int:
    """Return a group's setting of a key without bounds."""
    overrides = metadata.catalogue.group_configs.get(group_id)
    if not overrides:
        return number(GROUP_KEYS[name].default)
    return number(group_configs.value(name, overrides, metadata.live_config.layers))


def at_limit(metadata: Metadata, group_id: str) -> AtLimit:
    """Return what becomes of records that a share group gives up."""
    overrides = metadata.catalogue.group_configs.get(group_id)
    if not overrides:
        return AtLimit.DROP
    policy = AtLimit(group_configs.value(DEAD_LETTER_POLICY, overrides, metadata.live_config.layers))
    if policy != AtLimit.TAIL:
        return policy
    if not overrides.get(DEAD_LETTER_TOPIC) and overrides.get(REAR_ENABLE) != "true":
        return AtLimit.DROP
    has_letters = level_of(SHARE_VERSION, metadata.catalogue.feature_levels) >= DEAD_LETTERS
    return AtLimit.TAIL if has_letters else AtLimit.DROP


def bounded(metadata: Metadata, group_id: str, name: str) -> int:
    """Return a group's setting of a key in BOUNDS, within the bounds now in effect."""
    layers = metadata.live_config.layers
    overrides = metadata.catalogue.group_configs.get(group_id) or {}
    least, largest = (number(layers.value(bound)) for bound in BOUNDS[name])
    return min(max(number(group_configs.value(name, overrides, layers)), least), largest)


def number(value: object) -> int:
    """Return the value of a key whose values are numbers."""
    assert isinstance(value, int)
    return value
