"""The settings by which a group holds records back from retention (broker/upkeep/retention_holds.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.config import group_configs
from broker.config.group_keys import IMPORTANT_TOPICS

if TYPE_CHECKING:
    from broker.config.config_layers import ConfigLayers

IMPORTANT: Final = "kawal.retention.important"
IMPORTANT_MAX_BYTES: Final = "kawal.retention.important.max.bytes"
AVAILABILITY_MS: Final = "kawal.retention.availability.ms"
NO_LIMIT: Final = -1


class HoldLimits(NamedTuple):
    """The limits of what a group holds."""

    max_bytes: int
    """NO_LIMIT, or the size to which an important group may let a partition grow."""
    availability_ms: int
    """NO_LIMIT for an important group, else the age up to which records are kept."""


def hold_limits(overrides: Mapping[str, str], layers: ConfigLayers) -> HoldLimits | None:
    """Return the limits of a group's holds; None if it holds nothing."""

    def value(name: str) -> int:
        found = group_configs.value(name, overrides, layers)
        assert isinstance(found, int)
        return found

    if value(IMPORTANT):
        return HoldLimits(value(IMPORTANT_MAX_BYTES), NO_LIMIT)
    if value(AVAILABILITY_MS):
        return HoldLimits(NO_LIMIT, value(AVAILABILITY_MS))
    return None


def topics_named(overrides: Mapping[str, str], layers: ConfigLayers) -> tuple[str, ...]:
    """Return the topics that a group holds whether it has read them or not."""
    found = group_configs.value(IMPORTANT_TOPICS, overrides, layers)
    assert isinstance(found, tuple)
    return found
