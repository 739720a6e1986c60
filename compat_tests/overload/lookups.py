"""Loads on what is stored: lookups by time, and retention over very many small appends."""

from __future__ import annotations

from collections.abc import Iterator

from compat_tests.batches import Batch
from compat_tests.overload.load import Target, create_topics, frame, load, produce_many, repeated
from compat_tests.requests import produce_request
from compat_tests.times import START_MS
from protocol.compression import compress
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.produce import ProduceRequest

RECORDS = 2_000_000
BATCHES = 20
EXTENTS = 400_000
LOOKUPS = 1_000

SMALL_RECORD = b"\x0c\0\0\0\x01\x01\0"
"""A record without key and value, whose offset is wrong: walking it takes as long as a right one."""


def lookup_request(topic: str, *timestamps: int) -> ListOffsetsRequest:
    """Return lookups of times in the first partition."""
    asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp) for timestamp in timestamps]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)])


def _huge_batch(count: int, **fields: int) -> Batch:
    payload = compress(4, SMALL_RECORD * count)
    return Batch(attributes=4, payload=payload, count=count, last_offset_delta=count - 1, **fields)  # type: ignore[arg-type]


def _huge_batches(target: Target) -> None:
    create_topics(target, ["huge"])
    batch = _huge_batch(target.dose(RECORDS), max_timestamp=START_MS + 1_000)
    assert produce_many(target, [produce_request("huge", batch)] * BATCHES) == BATCHES


@load("lookups-huge", prepare=_huge_batches)
def lookups_huge(target: Target) -> str:
    """Lookups by time walk 20 batches of 2,000,000 records that promise a time which none of them has."""
    return repeated(target, [frame(lookup_request("huge", START_MS + 500), 7)], clients=4)


@load("doubtful-times", prepare=lambda target: create_topics(target, ["doubtful"]))
def doubtful_times(target: Target) -> str:
    """Batches of 16 KB with 2,000,000 records, whose header gives no time that can be believed."""
    batch = _huge_batch(target.dose(RECORDS), base_timestamp=START_MS, max_timestamp=-1)
    request = produce_request("doubtful", batch)
    return repeated(target, [frame(request, 9)])


def _extents(target: Target) -> None:
    create_topics(target, ["long"])
    # Each batch of a producer that waits for no other is a run of its own: two topics take turns.
    create_topics(target, ["other"])
    count = target.dose(EXTENTS)

    def taking_turns() -> Iterator[ProduceRequest]:
        for number in range(count):
            yield produce_request("long", Batch(base_timestamp=START_MS + number))
            yield produce_request("other", Batch(base_timestamp=START_MS + number))

    assert produce_many(target, taking_turns(), window=2_000) == 2 * count


@load("lookups-extents", prepare=_extents)
def lookups_extents(target: Target) -> str:
    """Lookups of a thousand times in a partition of 400,000 separate appends."""
    each = max(1, target.dose(EXTENTS) // LOOKUPS)
    request = lookup_request("long", *(START_MS + number * each for number in range(LOOKUPS)))
    return repeated(target, [frame(request, 7)])


@load("retention-extents", prepare=_extents, settings={"log.retention.check.interval.ms": "500"})
def retention_extents(target: Target) -> str:
    """Retention checks partitions of 400,000 separate appends each half second, while times are looked up."""
    return repeated(target, [frame(lookup_request("long", START_MS + 1), 7)], pause=0.1)
