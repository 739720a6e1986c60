"""The records of __consumer_offsets as typed keys and values, and the partition of a group.

The type of a key determines the type of its value; a value of None deletes what the key names.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

codecs.lookup("utf-16-be")  # its first use imports it, in 1 ms


CACHED_LENGTH_MAX: Final = 256
"""The longest ids of which many are remembered with their partition: 65,536 of the 32,767 characters that
clients may send would take 2 GB."""

LONG_IDS_KEPT: Final = 16
"""The longer ones of which the hash is remembered: one request asks several times, and each takes 2 ms."""

_BITS: Final = 0xFFFFFFFF


def partition_for(group_id: str, partition_count: int) -> int:
    """Return the partition of __consumer_offsets that holds a group: Java's hash of its id, modulo."""
    if len(group_id) > CACHED_LENGTH_MAX:
        return _partition_of(_long_hash(group_id), partition_count)
    return _known_partition_for(group_id, partition_count)


def partition_for_part(group_id: str, part: str, partition_count: int) -> int:
    """Return `partition_for(group_id + part)`; the hash of a long id is made once for all of its parts."""
    if len(group_id) > CACHED_LENGTH_MAX:
        return _partition_of(_java_hash(part, _long_hash(group_id)), partition_count)
    return partition_for(group_id + part, partition_count)


def _java_hash(text: str, before: int = 0) -> int:
    """Return Java's hash of a text, as an unsigned number; `before` is that of what stands before it."""
    found = before
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & _BITS
    return found


def _partition_of(found: int, partition_count: int) -> int:
    if found == 1 << 31:  # Java has no positive 2^31; Kafka's abs makes it 0.
        return 0
    return (found if found < 1 << 31 else (1 << 32) - found) % partition_count


_long_hash = lru_cache(maxsize=LONG_IDS_KEPT)(_java_hash)


@lru_cache(maxsize=65_536)
def _known_partition_for(group_id: str, partition_count: int) -> int:
    return _partition_of(_java_hash(group_id), partition_count)


_SHARE_TYPES = range(10, 16)
"""The types of the records of share groups.  Source: Kafka 4.3's CoordinatorRecordType."""


def is_share_record(key: bytes | memoryview) -> bool:
    """Whether a record of __consumer_offsets is of a share group, by its key."""
    return len(key) >= 2 and key[0] << 8 | key[1] in _SHARE_TYPES


class OffsetKey(NamedTuple):
    """The progress of a group in one partition."""

    group_id: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class ClassicGroupKey:
    """A classic group. Value: GroupMetadataValue."""

    group_id: str


@dataclass(frozen=True, slots=True)
class GroupEpochKey:
    """The epoch of a consumer group; without it the group does not exist. Value: GroupEpoch."""

    group_id: str


@dataclass(frozen=True, slots=True)
class MemberKey:
    """A member of a consumer group. Value: MemberMetadata."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class TargetEpochKey:
    """The epoch of a consumer group's target assignment. Value: TargetEpoch."""

    group_id: str


@dataclass(frozen=True, slots=True)
class TargetKey:
    """The target assignment of a member. Value: Assignment."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class CurrentKey:
    """The current assignment of a member. Value: MemberAssignment."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class RegexKey:
    """A regular expression that members subscribe to. Value: ResolvedRegex."""

    group_id: str
    regex: str


class GroupEpoch(NamedTuple):
    """The number of changes to a consumer group; the hash covers the topics it is subscribed to."""

    epoch: int
    metadata_hash: int


class TargetEpoch(NamedTuple):
    """The group epoch that the target was computed for, and when (ms since 1970)."""

    epoch: int
    timestamp_ms: int


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression stands for, and since when (ms since 1970)."""

    topics: frozenset[str]
    timestamp_ms: int


Key = (
    OffsetKey
    | ClassicGroupKey
    | GroupEpochKey
    | MemberKey
    | TargetEpochKey
    | TargetKey
    | CurrentKey
    | RegexKey
)
