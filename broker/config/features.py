"""The features, in the sense of KIP-584, that this server has, and the levels that they can have.

A feature is listed only when its behaviour is implemented: clients choose protocols by it.  Most have one
level; that of share groups can be changed with UpdateFeatures:

    share.version 0    no share groups: their APIs are refused, and the four of members not listed
                  1    share groups (KIP-932); records that are given up are archived
                  2    these and dead letters (KIP-1191): the default

Source: KIP-584; levels are those of Kafka 4.3 (`MetadataVersion`), of share groups those of 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Feature(NamedTuple):
    """A feature, the largest level, which it has unless another was set, and the least."""

    name: str
    level: int
    least: int


def _fixed(name: str, level: int) -> Feature:
    return Feature(name, level, level)


SHARE_VERSION: Final = "share.version"

SHARE_GROUPS: Final = 1
"""The level of share.version from which on there are share groups."""

DEAD_LETTERS: Final = 2
"""The level of share.version from which on there are dead letters."""

FEATURES: Final = {
    feature.name: feature
    for feature in (
        # The consumer rebalance protocol (KIP-848) is served.
        _fixed("group.version", 1),
        # 4.3-IV0.  No client's behaviour depends on it; tools show it as the cluster's version.
        _fixed("metadata.version", 30),
        Feature(SHARE_VERSION, DEAD_LETTERS, 0),
        # Transactions whose epoch rises with each of them, with implicit enlistment (KIP-890).
        _fixed("transaction.version", 2),
    )
}


def level_of(name: str, levels: Mapping[str, int]) -> int:
    """Return the level that a feature runs at, where these have been set."""
    return levels.get(name, FEATURES[name].level)
