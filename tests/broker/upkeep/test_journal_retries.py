"""When the journal asks again: a disk that gives nothing back, files that cannot be opened, the first cut."""

from __future__ import annotations

import errno
import logging

import pytest

from broker.upkeep.remote_journal import LOCAL_TRIES
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import asking
from tests.broker.kit import batch
from tests.broker.upkeep.remote import Remote, restarted_elsewhere, told
from wal.disk import DiskError
from wal.memory_faults import failing
from wal.memory_objects import ObjectFault

STORAGE = int(ErrorCode.KAFKA_STORAGE_ERROR)


def unreadable(remote: Remote) -> None:
    """Let the disk give back nothing more of the segments."""
    hook = failing("read", errno.EIO, path="default/", times=1_000_000)
    remote.gateway.disk.faults.append(hook)


def test_what_the_disk_does_not_give_back_ends_the_logs_with_a_sentence_and_is_not_asked_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    remote = Remote().opened("t")
    unreadable(remote)
    client = remote.produce(batch(b"one"))
    with caplog.at_level(logging.CRITICAL, "kawal.remote"):
        for _ in range(60):
            remote.run_all()
            remote.gateway.advance(1_000)
    assert told(client) == [(STORAGE, -1)]
    assert told(remote.produce(batch(b"two"))) == [(STORAGE, -1)]
    assert remote.copy.journal.counts.local_failures == LOCAL_TRIES
    assert "the disk did not give back in 8 tries what was written to it" in caplog.text
    remote.gateway.disk.faults.clear()
    assert restarted_elsewhere(remote).end_mark() == 0


def test_a_disk_that_gives_back_later_what_was_written_ends_nothing() -> None:
    remote = Remote().opened("t")
    hook = failing("read", errno.EIO, path="default/", times=LOCAL_TRIES - 1)
    remote.gateway.disk.faults.append(hook)
    client = remote.produce(batch(b"one"))
    for _ in range(60):
        remote.run_all()
        remote.gateway.advance(1_000)
    assert told(client) == [(0, 0)]
    assert remote.copy.journal.counts.local_failures == LOCAL_TRIES - 1
    assert remote.copy.journal._local_tries == 0


def test_commits_while_files_cannot_be_opened_wait_for_one_timer() -> None:
    remote = Remote().opened("t")
    journal = remote.copy.journal
    before = len(remote.gateway.broker.timers)

    def refused() -> list[object]:
        raise DiskError("open", "a segment", errno.EMFILE)

    begin, journal._journal.begin = journal._journal.begin, refused  # type: ignore[method-assign,assignment]
    clients = [remote.produce(batch(b"%d" % number)) for number in range(20)]
    assert len(remote.gateway.broker.timers) <= before + 1 + len(clients)  # each has its time-out
    assert journal.counts.local_failures == 1
    journal._journal.begin = begin  # type: ignore[method-assign]
    remote.gateway.advance(1_000)
    remote.run_all()
    assert [told(client) for client in clients] == [[(0, offset)] for offset in range(20)]


def test_the_first_database_of_the_class_does_not_wait_for_the_next_round_of_the_copy() -> None:
    remote = Remote(kawal_durability="disk", kawal_remote_lag_ms=600_000).opened_without_journal("t")
    admin = remote.gateway.client()
    admin.send(asking(DatabaseAction.ALTER, "default", durability="remote"), 0)
    remote.gateway.settle()
    client = remote.produce(batch(b"one"))
    assert told(client) == []
    for _ in range(3):
        remote.gateway.advance(1)
        remote.run_all()
    assert told(client) == [(0, 0)]


def test_a_round_that_is_under_way_when_the_class_begins_is_followed_by_another_at_once() -> None:
    remote = Remote(kawal_durability="disk", kawal_remote_lag_ms=600_000).opened_without_journal("t")
    remote.gateway.advance(600_000)
    assert len(remote.threads) == 1
    admin = remote.gateway.client()
    admin.send(asking(DatabaseAction.ALTER, "default", durability="remote"), 0)
    remote.gateway.settle()
    client = remote.produce(batch(b"one"))
    remote.run_all()
    for _ in range(3):
        remote.gateway.advance(1)
        remote.run_all()
    assert told(client) == [(0, 0)]


def test_a_store_that_is_away_is_not_hurried_by_commits_that_wait() -> None:
    remote = Remote(kawal_durability="disk").opened_without_journal("t")
    remote.objects.hook = lambda _call: ObjectFault.AWAY
    remote.gateway.advance(6_000)
    remote.run_all()
    rounds = remote.copy.counts.failures
    admin = remote.gateway.client()
    admin.send(asking(DatabaseAction.ALTER, "default", durability="remote"), 0)
    remote.gateway.settle()
    for _ in range(50):
        remote.produce(batch(b"one"))
        remote.run_all()
    assert remote.copy.counts.failures == rounds
