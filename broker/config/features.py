"""The features, in the sense of KIP-584, that this server has, each with the one level it runs at.

A feature is listed only when its behaviour is implemented: clients choose protocols by it.
Source: KIP-584; levels are those of Kafka 4.3 (`MetadataVersion`).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Feature(NamedTuple):
    """A feature and its level, which is the least, the largest and the finalized one."""

    name: str
    level: int


FEATURES: Final = {
    feature.name: feature
    for feature in (
        # The consumer rebalance protocol (KIP-848) is served.
        Feature("group.version", 1),
        # 4.3-IV0.  No client's behaviour depends on it; tools show it as the cluster's version.
        Feature("metadata.version", 30),
        # Share groups (KIP-932).
        Feature("share.version", 1),
        # Transactions whose epoch rises with each of them, with implicit enlistment (KIP-890).
        Feature("transaction.version", 2),
    )
}
