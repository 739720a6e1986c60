"""Reads of every kind over records that are in the object store alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.error_codes import ErrorCode
from protocol.records import iter_batches, read_batch_header
from tests.broker.compacted import keyed, pass_time
from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, fetch, fetched, fetching, offset_of, read, send, values
from tests.broker.shares import Member, configure
from tests.broker.shares import values as share_values
from tests.broker.transactions import end, transactional
from tests.broker.txn import committed
from tests.broker.upkeep.copies import copy_of
from tests.broker.upkeep.test_tiering import TIERED, VALUE, Tiered
from tests.wal.logs import batch as wal_batch
from tests.wal.remote.copies import Node, at_once
from tests.wal.test_tiering import LARGE, checkpointed
from wal.errors import RemoteWaits
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.tierable import LocalPolicy

Waiting = list[tuple[Callable[[], object], Callable[[Exception | None], None]]]


def cold(tiered: Tiered) -> Tiered:
    """Return the broker after a restart: nothing of the store is in memory."""
    tiered.gateway.restart()
    tiered.copy = copy_of(tiered.gateway, tiered.objects)
    tiered.client = tiered.gateway.client()
    return tiered


def held_back(tiered: Tiered) -> Waiting:
    """Have requests for blocks wait in a list; fetches give up after half a second."""
    waiting: Waiting = []
    broker = tiered.gateway.broker
    broker.store.blocks.connect(
        tiered.objects,
        limit_bytes=64 << 20,
        submit=lambda work, done: waiting.append((work, done)),
        later=lambda call: broker.timers.add(broker.clock.turn_ms + 500, lambda _: call()),
    )
    return waiting


def answer_all(waiting: Waiting) -> None:
    """Have the store answer what it was asked."""
    while waiting:
        work, done = waiting.pop(0)
        work()
        done(None)


def test_50_cold_partitions_of_one_request_are_asked_for_before_the_first_has_come() -> None:
    tiered = Tiered(vnodes=50)
    create(tiered.client, "many", 50, **TIERED)
    for index in range(50):
        for _ in range(5):
            send(tiered.client, "many", batch(VALUE), partition=index)
    tiered.settle()
    tiered.settle()
    cold(tiered)
    wanted = fetching({("many", index): 0 for index in range(50)}, max_bytes=1 << 24)
    waiting = held_back(tiered)
    tiered.client.send(wanted, 12)
    tiered.gateway.advance(400)
    assert (len(waiting), tiered.client.answers()) == (50, [])
    tiered.gateway.advance(200)
    assert len(tiered.client.answers()) == 1, "half a second for all, and not for each"
    answer_all(waiting)
    answer = fetched(tiered.client.call(wanted, 12))
    assert sum(bool(values(found.records)) for found in answer.values()) == 50


def test_a_disk_much_smaller_than_the_backlog_never_fills() -> None:
    capacity_bytes = 6 << 20
    tiered = Tiered(disk=MemoryDisk(capacity_bytes=capacity_bytes))
    for _ in range(48):
        tiered.write(20)
    assert len(tiered.written) * len(VALUE) > 3 * capacity_bytes
    assert not tiered.log.storage[0].full
    assert tiered.read_all() == tiered.written
    blocks = tiered.gateway.broker.store.blocks
    assert blocks.size_bytes <= 64 << 20


def test_a_member_of_a_share_group_is_given_records_from_the_store() -> None:
    tiered = Tiered()
    tiered.write()
    assert tiered.left > 3
    cold(tiered)
    configure(tiered.gateway, share_auto_offset_reset="earliest")
    member = Member(tiered.gateway, "m", "t")
    topic = tiered.gateway.broker.find_topic("t")
    found: list[bytes | None] = []
    for _ in range(100):
        answer = member.fetch((topic.topic_id, 0))
        (data,) = answer.responses[0].partitions if answer.responses else (None,)
        assert data is None or data.error_code == 0
        found += share_values(answer)
        if len(found) >= len(tiered.written):
            break
    assert found == tiered.written


def test_a_share_group_goes_on_after_an_error_of_the_store() -> None:
    tiered = Tiered()
    tiered.write()
    cold(tiered)
    configure(tiered.gateway, share_auto_offset_reset="earliest")
    member = Member(tiered.gateway, "m", "t")
    topic = tiered.gateway.broker.find_topic("t")
    tiered.objects.hook = lambda call: ObjectFault.AWAY if call.kind == "read_range" else None
    (data,) = member.fetch((topic.topic_id, 0)).responses[0].partitions
    assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    tiered.objects.hook = None
    assert share_values(member.fetch((topic.topic_id, 0)))[:1] == tiered.written[:1]


def test_readers_of_committed_records_see_the_same_from_the_store() -> None:
    tiered = Tiered()
    expected = []
    for number in range(12):
        value = b"%d " % number + VALUE
        transactional(tiered.gateway, value, 2 * number + 1)
        transactional(tiered.gateway, b"never " + value, 2 * number + 2)
        end(tiered.gateway, 2 * number + 1, commit=True)
        end(tiered.gateway, 2 * number + 2, commit=False)
        expected.append(value)
    tiered.settle()
    assert tiered.left > 3
    for is_cold in (False, True):
        client = (cold(tiered) if is_cold else tiered).gateway.client()
        found: list[bytes] = []
        offset = 0
        log_end = offset_of(client, "t", -1).offset
        while offset < log_end:
            answer = fetched(client.call(fetching({("t", 0): offset}, isolation_level=1), 12))["t", 0]
            assert answer.error_code == 0
            assert answer.last_stable_offset == log_end
            more = committed(client, "t", offset=offset)
            found += more
            for stored in iter_batches(answer.records):
                offset = read_batch_header(stored).last_offset + 1
        assert found == expected


def test_an_open_transaction_keeps_cold_records_hidden_from_readers_of_committed_ones() -> None:
    tiered = Tiered()
    tiered.write(10)
    first = len(tiered.written)
    transactional(tiered.gateway, b"not decided", 1)
    tiered.write(10)
    assert tiered.left > 3
    answer = fetched(tiered.client.call(fetching({("t", 0): first - 1}, isolation_level=1), 12))["t", 0]
    assert answer.last_stable_offset == first
    assert values(answer.records) == [tiered.written[first - 1]]


def test_a_pass_of_compaction_beside_tiered_topics_asks_the_store_for_nothing() -> None:
    tiered = Tiered()
    create(
        tiered.client, "c", cleanup_policy="compact", internal_segment_bytes="1000",
        min_cleanable_dirty_ratio="0.01",
    )  # fmt: skip
    for number in range(40):
        assert send(tiered.client, "c", keyed([(b"k", b"%d" % number)])).error_code == 0
        tiered.write(1)
    tiered.settle()
    before = tiered.left
    tiered.objects.hook = lambda call: ObjectFault.AWAY if call.kind == "read_range" else None
    proofs = tiered.gateway.broker.store.blocks.fetched_bytes
    pass_time(tiered.gateway, 60_000)
    assert tiered.gateway.broker.store.blocks.fetched_bytes == proofs
    tiered.objects.hook = None
    assert read(tiered.gateway.client(), "c")[-1] == b"39"
    assert tiered.read_all(tiered.gateway.client()) == tiered.written
    assert tiered.left >= before


def written_at(times: list[int], *, closing: int = 4) -> Node:
    """Return a node with one batch for each time, and segments of another stream after them."""
    node = Node(MemoryObjects())
    for time_ms in times:
        node.log.append(7, wal_batch(body=LARGE, timestamp=time_ms))
        node.commit(node.log)
    node.append(*[LARGE] * closing, stream=8)
    checkpointed(node)
    node.round()
    return node


def found_at(node: Node, time_ms: int) -> int:
    """Return the offset that a lookup by time finds, -1 for none."""
    for _ in range(50):
        try:
            hit = node.log.find_timestamp(7, time_ms)
        except RemoteWaits:
            continue
        return -1 if hit is None else hit.base_offset
    pytest.fail("the lookup does not end")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=8, max_size=20), st.data())
def test_a_lookup_by_time_finds_the_same_over_every_split_of_tiers(
    times: list[int], data: st.DataObject
) -> None:
    node = written_at([1_000 + 10 * time for time in times])
    model = [
        next((offset for offset, at in enumerate(times) if at >= time), -1) for time in range(max(times) + 2)
    ]
    steps = node.log.tierable(lambda _: LocalPolicy(-1, 0), wall_ms=0)
    left = data.draw(st.permutations(at_once(steps)))
    for count in range(len(left) + 1):
        for time, offset in enumerate(model):
            assert found_at(node, 1_000 + 10 * time) == offset, (count, time)
        if count < len(left):
            log = "default/vnode-0"
            proofs = node.uploader.proved({log: [left[count]]}, budget_bytes=1 << 30)
            node.log.tier(proofs.records[log])
            node.commit(node.log)
    assert node.log.local_start(7) == len(times), "at last nothing of the stream is on the disk"


def test_503_for_10_000_reads_and_then_all_is_read() -> None:
    tiered = Tiered()
    tiered.write()
    cold(tiered)
    refused = 0

    def hook(call: Any) -> ObjectFault | None:
        nonlocal refused
        if call.kind != "read_range" or refused == 10_000:
            return None
        refused += 1
        return ObjectFault.AWAY

    tiered.objects.hook = hook
    blocks = tiered.gateway.broker.store.blocks
    record = tiered.log.view().remote[0]
    told: list[Exception | None] = []
    for _ in range(9_950):
        blocks.fetch(record.key, record.size_bytes, 0, 1, told.append)
        tiered.gateway.settle()
    for _ in range(50):
        assert fetch(tiered.client, "t", 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert refused == 10_000
    assert send(tiered.client, "t", batch(b"meanwhile", timestamp_ms=START_MS)).error_code == 0
    assert tiered.read_all() == [*tiered.written, b"meanwhile"]
