"""Which segments may leave the disk, by the limits of the topics with records in them."""

from __future__ import annotations

from tests.wal.logs import batch
from tests.wal.remote.copies import Node, at_once
from tests.wal.test_tiering import checkpointed
from wal.memory_objects import MemoryObjects
from wal.tierable import LocalPolicy, PolicyOf, parts_in

BODY = b"y" * 20_000


def filled(*timestamps: int) -> Node:
    """Return a node with a batch of stream 7 for each of these times, three to a segment."""
    node = Node(MemoryObjects())
    for timestamp in timestamps:
        node.log.append(7, batch(body=BODY, timestamp=timestamp))
        node.commit(node.log)
    checkpointed(node)
    return node


def found(node: Node, policy_of: PolicyOf, wall_ms: int = 0) -> list[int]:
    return at_once(node.log.tierable(policy_of, wall_ms=wall_ms))


def test_all_closed_segments_may_go_when_nothing_is_kept_locally() -> None:
    node = filled(*[1_000] * 12)
    bases = node.log.view().bases
    assert found(node, lambda _: LocalPolicy(-1, 0)) == list(bases[:-1])


def test_a_topic_that_must_stay_keeps_its_segments() -> None:
    assert found(filled(*[1_000] * 12), lambda _: None) == []


def test_without_a_limit_nothing_goes() -> None:
    assert found(filled(*[1_000] * 12), lambda _: LocalPolicy(-1, -1), wall_ms=1 << 40) == []


def test_a_segment_goes_when_its_newest_record_is_older_than_the_limit() -> None:
    node = filled(*[1_000] * 6, *[5_000] * 6)
    young = [base for base in node.log.view().bases if (node.log.offset_at_version(7, base)) >= 6]
    left = found(node, lambda _: LocalPolicy(2_000, -1), wall_ms=6_000)
    assert left
    assert not set(left) & set(young)
    assert found(node, lambda _: LocalPolicy(2_000, -1), wall_ms=3_000) == []


def test_as_many_bytes_stay_as_the_limit_says() -> None:
    node = filled(*[1_000] * 20)
    size = node.log.stream_size_bytes(7)
    for limit in (0, size // 4, size // 2, size - 1, size):
        left = found(node, {7: LocalPolicy(-1, limit)}.get)
        offsets = [node.log.ends_in(base)[0][1] for base in left]
        kept = node.log.stream_size_bytes(7) * (20 - max(offsets, default=0)) // 20
        assert kept >= limit
    assert found(node, lambda _: LocalPolicy(-1, size)) == []


def test_records_below_the_log_start_keep_nothing() -> None:
    node = filled(*[1_000] * 12)
    node.log.append(8, batch())
    node.commit(node.log)
    node.log.set_log_start(7, 12)
    node.commit(node.log)
    checkpointed(node)
    assert found(node, lambda _: None)


def test_what_was_looked_at_once_is_not_opened_again() -> None:
    node = filled(*[1_000] * 20)
    found(node, lambda _: None)
    opened = node.log.storage[0].index_cache.opened
    for segment in node.log.storage[0].segments.all[:-1]:
        node.log.storage[0].index_cache.forget(segment)
    found(node, lambda _: LocalPolicy(-1, 0))
    assert node.log.storage[0].index_cache.opened == opened


def test_a_segment_has_parts_of_each_stream() -> None:
    node = Node(MemoryObjects())
    node.append(b"a", b"b")
    node.append(b"c", stream=8)
    index = node.log.storage[0].segments.all[-1].active_index
    assert [(part.stream_id, part.end_offset) for part in parts_in(index)] == [(7, 2), (8, 1)]
