"""The settings of group coordination, under Kafka's names with `_` for `.`.

Where the protocol lets the server decide, the defaults are TDengine's: sessions of 12 s, heartbeats every
3 s, changes gathered for 2 s, offsets that never expire. All others are Kafka 4.3's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

INT32_MAX = 2**31 - 1

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""A member that was never told its id is forgotten when its first join takes longer than this: its client has
given up and come back under another id. Source: KIP-394; Kafka's constant, too."""


class MigrationPolicy(Enum):
    """The groups that may change between the two protocols while members run."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """Whether a classic group becomes a consumer group when the first member of that kind joins."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        """Whether a consumer group becomes a classic one when the last member of that kind leaves."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The broker's settings for all groups."""

    offsets_topic_num_partitions: int = 50
    """Partitions of __consumer_offsets; fixed once the topic exists. 1 or more."""

    offsets_retention_minutes: int | None = None
    """The time that an unused offset is kept; None: for ever, as in TDengine (Kafka: 10,080)."""

    offsets_retention_check_interval_ms: int = 600_000
    """The interval between two searches for expired offsets. 1 or more."""

    offset_metadata_max_bytes: int = 4096
    """Longest metadata of a committed offset, in UTF-16 units as in Kafka. 0 or more."""

    group_min_session_timeout_ms: int = 6_000
    """Shortest session timeout a classic member may ask for."""

    group_max_session_timeout_ms: int = 1_800_000
    """Longest session timeout a classic member may ask for."""

    group_initial_rebalance_delay_ms: int = 3_000
    """The time that an empty classic group waits for more members; each new one prolongs it. 0 or more."""

    group_max_size: int = INT32_MAX
    """Most members of a classic group. 1 or more."""

    kawal_topic_max_groups: int = 0
    """Most groups with offsets in one topic; 0: no limit (TDengine: 100)."""

    group_consumer_session_timeout_ms: int = 12_000
    """Time without a heartbeat after which a member is removed (Kafka: 45,000; TDengine: 12,000)."""

    group_consumer_heartbeat_interval_ms: int = 3_000
    """The heartbeat interval that members are told (Kafka: 5,000; TDengine: 3,000)."""

    group_consumer_max_size: int = INT32_MAX
    """Most members of a consumer group. 1 or more."""

    group_consumer_assignors: tuple[str, ...] = ("tdengine", "uniform", "range")
    """Server-side assignors that members may ask for, the default first."""

    group_consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    """The groups that may change between the two protocols while members run."""

    kawal_rebalance_interval_ms: int = 2_000
    """The least time between two assignments of a group, in which changes are gathered. 0: at once.

    `group.consumer.assignment.interval.ms` is Kafka's name for it (default there: 1,000)."""

    kawal_offsets_max_bytes: int = 128 << 20
    """Memory for the offsets of all groups; see offset_room.py."""

    kawal_group_max_bytes: int = 32 << 20
    """Memory for the members of one group; see memory.py."""

    kawal_groups_max_bytes: int = 96 << 20
    """Memory for the members of all groups."""

    kawal_memory_share_per_ip: float = 0.5
    """The part of it for clients from one address."""

    kawal_group_assignor: str = "client"
    """The side that assigns the partitions of classic eager groups: `client` (their leader), or `server`
    (with the default assignor)."""

    authorizer_class_name: str = ""
    """Set: patterns match only topics that their members may see."""

    @property
    def hides_topics(self) -> bool:
        """Whether there are topics that not every member may see."""
        return bool(self.authorizer_class_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """The settings of one group that differ from the broker's (config resource GROUP); None: the broker's."""

    consumer_session_timeout_ms: int | None = None
    consumer_heartbeat_interval_ms: int | None = None
    consumer_assignment_interval_ms: int | None = None
    kawal_group_assignor: str | None = None


NO_SETTINGS = GroupSettings()
"""The settings of nearly every group."""
