"""The ends of views over a vnode where very many streams were written to: looked for in steps."""

from __future__ import annotations

from typing import Any

import pytest

from broker.view_topics import vnode_tail
from broker.view_topics.stream_owners import StreamOwners
from broker.view_topics.vnode_tail import VnodeTail
from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create
from wal.format import EntryKind
from wal.hidden import Hidden
from wal.log import VnodeLog
from wal.stream_producers import ProducerStamp
from wal.versions import FrameRef

PRODUCER = 7


def wide(partitions: int) -> tuple[Gateway, VnodeLog, StreamOwners, range]:
    """Make a vnode with a topic of many partitions; also return the streams of these."""
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t", partitions)
    topic = gateway.broker.find_topic("t")
    owners = StreamOwners(gateway.broker.catalogue, "default")
    first = topic.stream_id(0)
    return gateway, gateway.broker.vnodes["default"][0].log, owners, range(first, first + partitions)


def written(gateway: Gateway, log: VnodeLog, streams: range, count: int = 1) -> None:
    """Write to all of the streams in one frame, so many times."""
    for _ in range(count):
        for stream_id in streams:
            log.append(stream_id, batch(b"x"))
        gateway.settle()


def counted(monkeypatch: pytest.MonkeyPatch, method: str) -> list[FrameRef]:
    """Return the frames that are read by a method from now on."""
    read: list[FrameRef] = []
    really: Any = getattr(FrameRef, method)

    def reading(frame: FrameRef) -> Any:
        read.append(frame)
        return really(frame)

    monkeypatch.setattr(FrameRef, method, reading)
    return read


def begun(log: VnodeLog, stream_id: int, *, sequence: int = 0) -> None:
    """Append a record of an open transaction."""
    data = encode_batch(
        [Record(0, START_MS, None, b"v")],
        producer_id=PRODUCER,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )
    log.append(stream_id, data, producer=ProducerStamp(PRODUCER, 0, sequence, 1, True))


def committed(log: VnodeLog, stream_id: int) -> None:
    """Append the end of the transaction."""
    marker = transaction_marker_batch(
        commit=True,
        offset=0,
        timestamp_ms=START_MS,
        producer_id=PRODUCER,
        producer_epoch=0,
        coordinator_epoch=0,
    )
    log.append(stream_id, marker, kind=EntryKind.CONTROL)


def test_what_one_look_finds_in_many_wide_frames_is_looked_at_in_steps_of_one_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, log, owners, streams = wide(200)
    tail = VnodeTail(log, owners)
    before = tail.data_end()
    written(gateway, log, streams, 20)
    read = counted(monkeypatch, "read_kinds")
    monkeypatch.setattr(vnode_tail, "PLAIN_ITEMS_PER_STEP", 200)
    assert tail.data_end() == before
    assert len(read) == vnode_tail.STEPS_AT_ONCE
    for steps, _ in enumerate(tail.settle(), start=1):
        assert len(read) <= vnode_tail.STEPS_AT_ONCE + steps
        assert tail._shown_data_end in (before, log.next_version)
    assert len(read) == 20
    assert tail.is_current
    assert tail.data_end() == log.next_version


def test_many_streams_with_producers_are_asked_in_steps_where_too_many_frames_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, log, owners, streams = wide(100)
    tail = VnodeTail(log, owners)
    monkeypatch.setattr(vnode_tail, "FRAMES_MAX", 2)
    monkeypatch.setattr(vnode_tail, "PLAIN_ITEMS_PER_STEP", 10)
    for stream_id in streams:
        begun(log, stream_id)
    gateway.settle()
    written(gateway, log, streams, 3)
    undecided = log.version_of(streams[0], 0)
    pauses = sum(1 for _ in tail.settle())
    assert pauses > 100 // 10
    assert tail.data_end() == undecided


def test_of_very_many_undecided_streams_only_some_are_looked_up_in_their_frames(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, log, owners, streams = wide(100)
    tail = VnodeTail(log, owners)
    written(gateway, log, streams[:1])
    decided = log.next_version
    for stream_id in streams:
        begun(log, stream_id)
    gateway.settle()
    read = counted(monkeypatch, "read_table")
    assert sum(1 for _ in tail.settle()) >= vnode_tail.EXACT_MAX
    assert tail.data_end() == decided
    assert len(read) == vnode_tail.EXACT_MAX
    for number, stream_id in enumerate(streams):
        committed(log, stream_id)
        gateway.settle()
        shown = tail.data_end()
        assert shown >= decided + number
    assert shown == log.next_version
    assert tail._by_version == []


def test_an_end_does_not_go_back_to_the_beginning_of_an_extent(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, log, owners, streams = wide(2)
    tail = VnodeTail(log, owners)
    # One extent: decided, a transaction, its end, and the next transaction.
    log.append(streams[0], batch(b"x"))
    begun(log, streams[0])
    gateway.settle()
    before = tail.data_end()
    assert before == log.next_version - 1
    monkeypatch.setattr(vnode_tail, "EXACT_MAX", 0)
    committed(log, streams[0])
    begun(log, streams[0], sequence=1)
    gateway.settle()
    assert tail.data_end() >= before
    committed(log, streams[0])
    gateway.settle()
    assert tail.data_end() == log.next_version


def test_a_transaction_that_was_hidden_after_a_crash_is_as_undecided_once_it_is_shown() -> None:
    gateway, log, owners, streams = wide(1)
    start = log.next_version
    begun(log, streams[0])
    gateway.settle()
    hidden = Hidden()
    hidden.version = start
    hidden.add(streams[0], 0, 100)
    log._state.hidden = hidden
    tail = VnodeTail(log, owners)
    assert tail.data_end() <= start
    log.show_replayed()
    assert tail.data_end() <= start, "the transaction is still open"
    committed(log, streams[0])
    gateway.settle()
    assert tail.data_end() > start


def test_the_first_look_at_very_many_undecided_streams_takes_steps_and_shows_nothing_before_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, log, owners, streams = wide(100)
    written(gateway, log, streams[:1])
    decided = log.next_version
    for stream_id in streams:
        begun(log, stream_id)
    gateway.settle()
    monkeypatch.setattr(vnode_tail, "EXACT_MAX", 0)
    monkeypatch.setattr(vnode_tail, "PLAIN_ITEMS_PER_STEP", 10)
    monkeypatch.setattr(vnode_tail, "STEPS_AT_ONCE", 1)
    tail = VnodeTail(log, owners)
    assert tail.end() <= log.first_version
    assert sum(1 for _ in tail.settle()) >= 5
    assert tail.is_current
    assert tail.data_end() == decided
