"""The settings of the share coordinator, under Kafka's names with `_` for `.`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareConfig:
    """The broker's settings for the state of all share groups."""

    share_coordinator_state_topic_num_partitions: int = 50
    """Partitions of __share_group_state; fixed once the topic exists. 1 or more."""

    share_coordinator_snapshot_update_records_per_snapshot: int = 500
    """The changes of a share-partition after which its whole state is stored again. 0 or more."""

    kawal_share_states_max_bytes: int = 96 << 20
    """Memory for all share-partitions, without their records in flight."""

    kawal_share_ranges_max_bytes: int = 64 << 20
    """Memory for the records in flight of all share-partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupConfig:
    """The broker's settings for the members of share groups."""

    group_share_max_size: int = 200
    """Most members of a group. 1 or more."""

    group_share_session_timeout_ms: int = 45_000
    """Time without a heartbeat after which a member is removed."""

    group_share_heartbeat_interval_ms: int = 5_000
    """The heartbeat interval that members are told."""

    group_share_assignment_interval_ms: int = 0
    """Shortest time between two assignments, to gather changes; 0: at once."""


def kafkas_defaults(_: str) -> ShareGroupConfig:
    """Return the settings of a group for which nothing is configured."""
    return ShareGroupConfig()
