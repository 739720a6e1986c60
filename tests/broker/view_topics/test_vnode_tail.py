"""Views over a vnode end after the newest record of a topic, and before undecided records."""

from __future__ import annotations

from random import Random

import pytest

from broker.catalogue.catalogue_changes import CHANGES_STREAM
from broker.view_topics import vnode_tail
from broker.view_topics.stream_owners import StreamOwners
from broker.view_topics.vnode_tail import VnodeTail
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create
from tests.broker.transactions import end, transactional
from wal.log import VnodeLog
from wal.newest_frames import NewestFrames
from wal.versions import FrameRef


def made() -> tuple[Gateway, VnodeLog, StreamOwners]:
    """Make a vnode with stream 1 of a topic and stream 2 of an internal one."""
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t", 1)
    create(gateway.client(), "__consumer_offsets", 1)
    owners = StreamOwners(gateway.broker.catalogue, "default")
    return gateway, gateway.broker.vnodes["default"][0].log, owners


@pytest.mark.parametrize("seed", range(5))
def test_the_end_is_the_same_whether_followed_or_found_at_a_start(seed: int) -> None:
    chance = Random(seed)
    gateway, log, owners = made()
    followed = VnodeTail(log, owners)
    data_end = change_end = 0
    for _ in range(40):
        before = log.next_version
        match chance.randrange(3):
            case 0:
                log.append(1, batch(b"a", b"b"))
            case 1:
                log.append(2, batch(b"x"))
            case _:
                log.append_meta(CHANGES_STREAM, b"{}")
                change_end = before + 1
        gateway.settle()
        if log.next_offset(1) and log.high_watermark(1) > data_end_of(log, data_end):
            data_end = log.version_of(1, log.high_watermark(1) - 1) or 0
            data_end += 1
        assert followed.data_end() == data_end
        assert followed.change_end() == change_end
        assert followed.end() == max(data_end, change_end)
        found = VnodeTail(log, owners)
        assert found.data_end() == data_end
        assert found.end() == max(data_end, change_end)


def data_end_of(log: VnodeLog, data_end: int) -> int:
    """Return the offset of stream 1 after the records below a version."""
    count = 0
    while count < log.high_watermark(1) and (log.version_of(1, count) or 0) < data_end:
        count += 1
    return count


def test_frames_written_since_the_last_look_are_not_read_from_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, log, owners = made()
    tail = VnodeTail(log, owners)
    monkeypatch.setattr(FrameRef, "read_kinds", lambda _: pytest.fail("a frame was read"))
    for stream_id in (1, 2, 1, 2):
        log.append(stream_id, batch(b"x"))
        log.append_meta(CHANGES_STREAM, b"{}")
        gateway.settle()
    assert tail.data_end() == log.next_version - 2
    assert tail.change_end() == log.next_version


def test_frames_that_the_log_does_not_remember_are_read() -> None:
    gateway, log, owners = made()
    tail = VnodeTail(log, owners)
    for stream_id in (1, 2):
        log.append(stream_id, batch(b"x"))
        gateway.settle()
    log._state.newest_frames = NewestFrames()
    assert tail.data_end() == log.next_version - 1


def test_where_too_many_frames_came_the_index_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, log, owners = made()
    tail = VnodeTail(log, owners)
    monkeypatch.setattr(NewestFrames, "since", lambda *_: None)
    monkeypatch.setattr(vnode_tail, "FRAMES_MAX", 3)
    for _ in range(3):
        log.append(2, batch(b"x"))
        gateway.settle()
    assert tail.data_end() == 0
    for _ in range(4):
        log.append(2, batch(b"x"))
        gateway.settle()
    assert tail.data_end() == 0
    assert tail.change_end() == log.next_version
    for stream_id in (2, 1, 2, 2, 2):
        log.append(stream_id, batch(b"x"))
        gateway.settle()
    assert tail.data_end() == log.next_version - 3


def test_the_frame_of_an_open_transaction_is_looked_at_once_not_at_each_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, log, owners = made()
    tail = VnodeTail(log, owners)
    transactional(gateway, b"open", 2)
    undecided = log.next_version - 1
    assert tail.data_end() == undecided
    monkeypatch.setattr(FrameRef, "read_table", lambda _: pytest.fail("its frame was read again"))
    for _ in range(3):
        log.append(2, batch(b"x"))
        gateway.settle()
        assert tail.data_end() == undecided
    end(gateway, 2, commit=True)
    assert tail.data_end() > undecided
