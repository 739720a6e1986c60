"""The part of a partition that may be compacted, and whether that is due, as in Kafka's cleaner."""

from __future__ import annotations

from dataclasses import replace

from broker.upkeep.compaction_policy import EXTENTS_PER_SLICE, DirtyPart, dirty_part
from tests.broker.compacted import made, put
from tests.broker.gateway import START_MS, Gateway

BATCH_BYTES = 400


def partition_of(batches: int, *, gap_ms: int = 0, **configs: str) -> tuple[Gateway, DirtyPart]:
    """Return a gateway with a partition of batches of about 400 bytes, and its dirty part."""
    gateway = Gateway()
    client = gateway.client()
    made(client, **configs)
    for number in range(batches):
        put(client, "t", [(b"k%03d" % number, b"x" * (BATCH_BYTES - 80))], START_MS + number * gap_ms)
    return gateway, judged(gateway)


def judged(gateway: Gateway, wall_ms: int = START_MS, **changes: int | float) -> DirtyPart:
    partition = gateway.partition("t")
    settings = replace(gateway.broker.topics.settings(partition.topic), **changes)  # type: ignore[arg-type]
    steps = dirty_part(partition, settings, wall_ms)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: DirtyPart = end.value
            return found


def test_an_empty_partition_has_nothing_to_compact() -> None:
    gateway, dirty = partition_of(0)
    assert dirty == DirtyPart(0, 0, 0, 0, overdue=False)
    assert dirty.ratio == 0
    assert not dirty.is_due(gateway.broker.topics.settings(gateway.partition("t").topic))


def test_everything_before_the_active_segment_is_dirty_at_first() -> None:
    _, dirty = partition_of(7)
    assert (dirty.first_dirty, dirty.uncleanable, dirty.clean_bytes) == (0, 6, 0)
    assert dirty.ratio == 1
    assert 6 * (BATCH_BYTES - 20) < dirty.dirty_bytes < 6 * (BATCH_BYTES + 20)


def test_the_ratio_is_that_of_new_bytes_to_all_that_may_be_compacted() -> None:
    settings = Gateway().broker.config
    topic = replace(partition_of(0)[0].broker.topics.settings(partition_of(0)[0].partition("t").topic))
    assert settings.log_cleaner_min_cleanable_ratio == 0.5
    dirty = DirtyPart(10, 20, 300, 100, overdue=False)
    assert dirty.ratio == 0.25
    assert not dirty.is_due(replace(topic, min_cleanable_dirty_ratio=0.25))
    assert dirty.is_due(replace(topic, min_cleanable_dirty_ratio=0.24))
    assert dirty._replace(overdue=True).is_due(replace(topic, min_cleanable_dirty_ratio=0.9))
    assert not dirty._replace(uncleanable=10, overdue=True).is_due(topic)


def test_segments_with_a_young_record_wait() -> None:
    gateway, _ = partition_of(9, gap_ms=1_000)
    # Two batches fit into a segment: 0-1, 2-3, 4-5, 6-7 and the active one.
    found = [
        judged(gateway, START_MS + age_ms, min_compaction_lag_ms=5_000).uncleanable
        for age_ms in (5_000, 6_000, 8_000, 9_999, 12_000, 100_000)
    ]
    assert found == [0, 2, 4, 4, 8, 8]


def test_a_first_batch_older_than_the_lag_is_overdue() -> None:
    gateway, _ = partition_of(9, gap_ms=1_000)
    assert not judged(gateway, START_MS + 20_000, max_compaction_lag_ms=20_000).overdue
    assert judged(gateway, START_MS + 20_001, max_compaction_lag_ms=20_000).overdue


def test_the_largest_lag_also_ends_segments() -> None:
    gateway, _ = partition_of(3, gap_ms=10_000, internal_segment_bytes="100000")
    assert judged(gateway).uncleanable == 0
    assert judged(gateway, max_compaction_lag_ms=10_000).uncleanable == 2
    assert judged(gateway, max_compaction_lag_ms=9_999).uncleanable == 2


def test_many_extents_are_looked_at_in_slices() -> None:
    gateway, _ = partition_of(0)
    client = gateway.client()
    for _ in range(EXTENTS_PER_SLICE + 50):
        put(client, "t", [(b"k", b"v")])
    partition = gateway.partition("t")
    steps = dirty_part(partition, gateway.broker.topics.settings(partition.topic), START_MS)
    assert len(list(steps)) == 1
    whole = judged(gateway)
    assert whole.uncleanable > EXTENTS_PER_SLICE


def test_what_was_deleted_does_not_count() -> None:
    gateway, _ = partition_of(9)
    partition = gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 5)
    gateway.settle()
    dirty = judged(gateway)
    assert dirty.first_dirty == 5
    assert dirty.uncleanable == 7
