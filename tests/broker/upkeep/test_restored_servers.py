"""Records that the old server acknowledges between a restore and the start of the restored one."""

from __future__ import annotations

import logging
from itertools import count

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.kit import batch
from tests.broker.upkeep.remote import Remote, told
from wal.memory_disk import MemoryDisk
from wal.memory_objects import ObjectCall
from wal.remote.restore import RemoteRestore

STORAGE = int(ErrorCode.KAFKA_STORAGE_ERROR)


def restored(remote: Remote) -> MemoryDisk:
    """Return a disk with what the store has now; no server was started there."""
    disk = MemoryDisk()
    cluster_id = remote.gateway.broker.cluster_id
    for _ in RemoteRestore(remote.objects, disk, cluster_id=cluster_id, data="/data").run():
        pass
    return disk


def started(remote: Remote, disk: MemoryDisk) -> Remote:
    """Return a server on that disk that has asked the store."""
    server = Remote(remote.objects, disk, incarnation="b")
    server.gateway.advance(1)
    server.run_all()
    return server


def acknowledged(remote: Remote, data: bytes) -> list[tuple[int, int]]:
    """Send a record, let everything run, and return the answer."""
    client = remote.produce(batch(data))
    remote.run_all()
    return told(client)


@pytest.mark.parametrize("has_round", [False, True])
def test_a_restored_server_that_lacks_what_was_acknowledged_since_is_refused_and_the_old_one_goes_on(
    has_round: bool, caplog: pytest.LogCaptureFixture
) -> None:
    old = Remote().opened("t")
    assert acknowledged(old, b"one") == [(0, 0)]
    disk = restored(old)
    assert acknowledged(old, b"two") == [(0, 1)], "the restore did not end it"
    if has_round:  # the copy has it, and its chunk is gone
        old.gateway.advance(10_000)
        old.run_all()
    with caplog.at_level(logging.CRITICAL, "kawal.remote"):
        new = started(old, disk)
    assert new.is_stopped
    assert "lacks records that were acknowledged" in caplog.text or "older than the copy" in caplog.text
    assert "kawal restore" in caplog.text
    assert acknowledged(new, b"three") == [(STORAGE, -1)]
    assert new.end_mark() == 0, "nor does it show what may not be the end"
    assert acknowledged(old, b"three") == [(0, 2)]
    again = started(old, restored(old))
    assert again.is_open
    assert again.end_mark() == 3


def test_a_restored_server_that_starts_ends_the_old_one_and_lacks_nothing_that_was_acknowledged() -> None:
    old = Remote().opened("t")
    assert acknowledged(old, b"one") == [(0, 0)]
    new = started(old, restored(old))
    assert new.is_open
    assert acknowledged(old, b"two") == [(STORAGE, -1)]
    assert new.end_mark() == 1
    assert acknowledged(new, b"other") == [(0, 1)]
    old.gateway.advance(10_000)
    old.run_all()
    assert old.is_stopped
    assert old.end_mark() == 1


def started_beside(old: Remote, nth: int) -> tuple[Remote, list[tuple[int, int]]]:
    """Start a restored server; before the nth request the old one is sent a record.  Return its answer."""
    new = Remote(old.objects, restored(old), incarnation="b")
    answer: list[tuple[int, int]] = []
    requests = count(1)

    def between(_call: ObjectCall) -> None:
        if next(requests) == nth:
            answer.extend(acknowledged(old, b"two"))

    old.objects.hook = between
    new.gateway.advance(1)
    new.run_all()
    old.objects.hook = None
    return new, answer


def test_what_the_old_server_is_sent_while_the_restored_one_starts_is_in_that_or_refused() -> None:
    for nth in range(1, 40):
        old = Remote().opened("t")
        assert acknowledged(old, b"one") == [(0, 0)]
        new, answer = started_beside(old, nth)
        if not answer:
            assert nth > 5
            return
        assert new.is_stopped == (answer == [(0, 1)]), "a server that lacks what was acknowledged is refused"
        assert new.is_stopped or answer == [(STORAGE, -1)]
    pytest.fail("more requests than were expected")
