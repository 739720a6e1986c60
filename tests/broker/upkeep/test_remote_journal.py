"""Durability `remote` in a broker: nothing is acknowledged or readable before the store has it."""

from __future__ import annotations

import errno
import logging
from dataclasses import replace

import pytest

from broker.loop.internal_errors import ErrorPlace
from broker.upkeep.remote_journal import LOG_EVERY_MS
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import asking
from tests.broker.kit import batch, producing
from tests.broker.upkeep.remote import Remote, restarted_elsewhere, told
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.options import Durability
from wal.remote.journal_format import journal_key
from wal.remote.uploader import Uploader

STORAGE = int(ErrorCode.KAFKA_STORAGE_ERROR)


def fence_off(remote: Remote) -> None:
    """Have another process end the journal."""
    mark = remote.copy.journal._journal.mark
    key = journal_key(remote.gateway.broker.cluster_id, mark.epoch, mark.number)
    remote.objects.create(key, b"another's")


def databases(remote: Remote, action: DatabaseAction, name: str, **settings: str | None) -> int:
    """Ask about a database, and return the error."""
    (result,) = remote.call(asking(action, name, validate_only=False, **settings), 0).databases
    return int(result.error_code)


def test_a_produce_is_neither_answered_nor_readable_before_the_store_has_it() -> None:
    remote = Remote().opened("t")
    client = remote.produce(batch(b"one"))
    assert len(remote.threads) == 1
    assert told(client) == []
    assert remote.end_mark() == 0
    remote.run()
    assert told(client) == [(0, 0)]
    assert remote.end_mark() == 1


def test_before_the_first_cut_a_produce_waits() -> None:
    remote = Remote()
    remote.objects.hook = lambda _call: ObjectFault.AWAY
    remote.gateway.advance(20_000)
    assert not remote.is_open
    client = remote.gateway.client()
    client.send_unanswered(asking(DatabaseAction.CREATE, "d"), 0)
    remote.gateway.settle()
    assert client.answers() == []


def test_three_requests_are_on_their_way_and_answers_leave_in_order_though_they_end_otherwise() -> None:
    remote = Remote().opened("t")
    clients = [remote.produce(batch(b"%d" % number)) for number in range(5)]
    assert len(remote.threads) == 3
    remote.run(2)
    remote.run(1)
    assert [told(client) for client in clients] == [[]] * 5
    assert remote.end_mark() == 0
    remote.run(0)
    assert [told(client) for client in clients[:3]] == [[(0, 0)], [(0, 1)], [(0, 2)]]
    remote.run()
    assert [told(client) for client in clients[3:]] == [[(0, 3)], [(0, 4)]]
    assert remote.copy.journal.counts.puts > 3


def test_a_store_that_is_away_is_asked_again_for_ever_and_told_of_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    remote = Remote().opened("t")
    client = remote.produce(batch(b"one"))
    remote.objects.hook = lambda _call: ObjectFault.AWAY
    began_ms = remote.gateway.now_ms
    with caplog.at_level(logging.WARNING, "kawal.remote"):
        while remote.gateway.now_ms < began_ms + 600_000:
            while remote.threads:
                remote.run()
            remote.gateway.advance(1_000)
    assert told(client) == []
    assert remote.copy.journal.counts.failures > 60
    lines = [record for record in caplog.records if "'remote' waits for" in record.message]
    assert 9 <= len(lines) <= 600_000 // LOG_EVERY_MS + 1
    remote.objects.hook = None
    remote.gateway.advance(10_000)
    remote.run_all()
    assert told(client) == [(0, 0)]


def test_appends_are_refused_while_half_of_the_memory_for_requests_waits_and_taken_again() -> None:
    remote = Remote(queued_max_request_bytes=1_000_000).opened("t")
    clients = [remote.produce(batch(b"x" * 49_000)) for _ in range(12)]
    assert told(clients[0]) == []
    refused = remote.produce(batch(b"more"))
    assert told(refused) == [(STORAGE, -1)]
    remote.run_all()
    assert [told(client)[0][0] for client in clients].count(0) >= 10
    again = remote.produce(batch(b"again"))
    remote.run_all()
    assert told(again)[0][0] == 0


def test_a_fenced_broker_refuses_what_waits_and_takes_nothing_more_but_for_databases_of_class_disk() -> None:
    remote = Remote().opened("t")
    assert databases(remote, DatabaseAction.CREATE, "local", durability="disk") == 0
    remote.with_topics("local", database="local")
    client = remote.produce(batch(b"one"))
    fence_off(remote)
    remote.run()
    assert told(client) == [(STORAGE, -1)]
    assert told(remote.produce(batch(b"two"))) == [(STORAGE, -1)]
    assert remote.end_mark() == 0
    assert told(remote.produce(batch(b"local"), "local")) == [(0, 0)]
    remote.gateway.advance(600_000)
    assert told(remote.produce(batch(b"three"))) == [(STORAGE, -1)]


def test_a_broker_that_is_fenced_at_its_copy_refuses_what_waits_too() -> None:
    remote = Remote().opened("t")
    client = remote.produce(batch(b"one"))
    broker = remote.gateway.broker
    other = Uploader(
        remote.objects, remote.gateway.disk, path=broker.store.path, identity=broker.store.identity,
        incarnation="b", delete_delay_ms=1_000,
    )  # fmt: skip
    other.take_over({}, 0)
    put = remote.threads.pop()
    remote.gateway.advance(6_000)
    remote.run_all()
    assert remote.is_stopped
    assert told(client) == [(STORAGE, -1)]
    remote.threads.append(put)
    remote.run()
    assert remote.end_mark() == 0


def test_disk_work_that_ends_after_the_fence_is_no_error_of_ours() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    client = remote.gateway.client()
    client.send(producing(("t", 0, batch(b"two"))), 9)
    jobs = list(remote.gateway.broker.take_jobs(remote.gateway.now_ms))
    fence_off(remote)
    work, done = remote.threads.pop()
    work()
    done(None)
    remote.gateway.finish(jobs)
    assert told(client) == [(STORAGE, -1)]
    assert remote.gateway.broker.internal_errors.counts[ErrorPlace.LOG] == 0


def test_after_the_fence_no_database_joins_the_class_and_none_waits_for_a_journal_that_has_ended() -> None:
    remote = Remote(kawal_durability="disk").opened_without_journal("t")
    remote.copy.journal.stop(OSError("fenced"))
    assert databases(remote, DatabaseAction.ALTER, "default", durability="remote") == STORAGE
    assert told(remote.produce(batch(b"one"))) == [(0, 0)]


def test_a_write_that_fails_takes_nothing_from_those_before_it_that_are_on_their_way() -> None:
    remote = Remote().opened("t")
    first = remote.produce(batch(b"one"))
    remote.gateway.disk.faults.append(failing("sync", errno.EIO))
    second = remote.produce(batch(b"two"))
    assert told(second) == [], "what is before it decides first"
    remote.run()
    assert told(first) == [(0, 0)]
    assert told(second) == [(STORAGE, -1)]
    remote.gateway.advance(10_000)
    remote.run_all()
    third = remote.produce(batch(b"three"))
    remote.run_all()
    assert told(third) == [(0, 1)]
    fresh = restarted_elsewhere(remote)
    assert fresh.end_mark() == 2


def test_segments_roll_with_commits_on_their_way_and_all_of_it_is_restored() -> None:
    remote = Remote().opened("t")
    clients = []
    for number in range(12):
        clients.append(remote.produce(batch(b"x" * 20_000)))
        if number % 3 == 2:
            remote.run()
    remote.run_all()
    assert [told(client) for client in clients] == [[(0, offset)] for offset in range(12)]
    assert len(remote.gateway.partition("t").vnode.log.view().bases) == 3
    assert restarted_elsewhere(remote).end_mark() == 12


def test_seals_of_an_idle_log_need_no_chunk_and_what_follows_them_is_restored() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    remote.run_all()
    puts = remote.copy.journal.counts.puts
    remote.gateway.advance(100)
    remote.threads.clear()
    remote.gateway.advance(4_000)
    assert remote.copy.journal.counts.puts == puts
    remote.threads.clear()
    client = remote.produce(batch(b"two"))
    remote.run_all()
    assert told(client) == [(0, 1)]
    assert restarted_elsewhere(remote).end_mark() == 2


@pytest.mark.parametrize("durability", ["disk", "os"])
def test_a_database_that_leaves_the_class_lets_its_commits_count_in_order(durability: Durability) -> None:
    remote = Remote().opened("t")
    first = remote.produce(batch(b"one"))
    second = remote.gateway.client()
    second.send(producing(("t", 0, batch(b"two"))), 9)
    jobs = list(remote.gateway.broker.take_jobs(remote.gateway.now_ms))
    assert len(jobs) == 1
    vnode = remote.gateway.partition("t").vnode
    vnode.log.change_options(replace(vnode.log.options, durability=durability))
    remote.gateway.finish(jobs)
    remote.run_all()
    assert told(first) == [(0, 0)]
    assert told(second) == [(0, 1)]
    third = remote.produce(batch(b"three"))
    assert told(third) == [(0, 2)], "it waits for the store no more"


def test_a_database_that_joins_the_class_waits_for_the_store_from_then_on() -> None:
    remote = Remote(kawal_durability="disk").opened_without_journal("t")
    assert told(remote.produce(batch(b"one"))) == [(0, 0)]
    admin = remote.gateway.client()
    admin.send(asking(DatabaseAction.ALTER, "default", durability="remote"), 0)
    remote.gateway.settle()
    client = remote.produce(batch(b"two"))
    assert (admin.answers(), told(client)) == ([], [])
    remote.gateway.advance(20_000)
    remote.run_all()
    (answer,) = admin.answers()
    assert answer.databases[0].error_code == 0
    assert told(client) == [(0, 1)]
    assert restarted_elsewhere(remote).end_mark() == 2


def test_a_database_is_created_and_dropped_with_commits_on_their_way() -> None:
    remote = Remote().opened("t")
    assert databases(remote, DatabaseAction.CREATE, "metrics") == 0
    assert databases(remote, DatabaseAction.DROP, "metrics") == 0
    client = remote.produce(batch(b"one"))
    remote.run_all()
    assert told(client) == [(0, 0)]
    remote.gateway.advance(6_000)
    remote.run_all()
    assert restarted_elsewhere(remote).end_mark() == 1


def test_a_shutdown_leaves_unacknowledged_what_is_on_its_way_and_the_next_start_has_it() -> None:
    remote = Remote().opened("t")
    client = remote.produce(batch(b"one"))
    broker = remote.gateway.broker
    assert broker.has_disk_work
    broker.begin_stop(remote.gateway.now_ms)
    broker.close(remote.gateway.now_ms)
    assert told(client) == []
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b").opened()
    assert after.end_mark() == 1
    assert restarted_elsewhere(after).end_mark() == 1


def test_a_shutdown_with_a_failed_write_that_waits_for_those_before_it_closes_the_logs() -> None:
    remote = Remote().opened("t")
    client = remote.produce(batch(b"one"))
    remote.gateway.disk.faults.append(failing("sync", errno.EIO))
    failed = remote.produce(batch(b"two"))
    remote.gateway.broker.close(remote.gateway.now_ms)
    assert (told(client), told(failed)) == ([], [])
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b").opened()
    assert after.end_mark() == 1


def test_a_record_that_is_sent_again_after_a_crash_is_acknowledged_only_when_the_store_has_it() -> None:
    """The disk has it: the log says that it is known. But the disk alone is not what the class promises."""
    remote = Remote().opened("t")
    data = batch(b"one", producer=(7, 0, 0))
    assert told(remote.produce(bytes(data))) == []
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    again = after.produce(bytes(data))
    assert told(again) == []
    after.gateway.advance(1)
    after.run_all()
    assert told(again) == [(0, 0)]
    assert restarted_elsewhere(after).end_mark() == 1


def test_a_record_that_is_sent_again_is_acknowledged_though_its_database_has_left_the_class() -> None:
    remote = Remote().opened("t")
    data = batch(b"one", producer=(7, 0, 0))
    remote.produce(bytes(data))
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    again = after.produce(bytes(data))
    for vnode in after.gateway.broker.vnodes["default"]:
        vnode.log.change_options(replace(vnode.log.options, durability="disk"))
    after.gateway.broker.vnodes.follow_durability()
    assert told(again) == []
    after.gateway.advance(1_000)
    after.run_all()
    assert not after.is_open
    assert told(again) == [(0, 0)]


def test_an_old_disk_that_is_put_back_is_refused_with_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    remote = Remote().opened("t")
    old = remote.gateway.disk.crash(DROP_ALL)
    remote.produce(batch(b"one"))
    remote.run_all()
    after = Remote(remote.objects, old, incarnation="b")
    with caplog.at_level(logging.CRITICAL, "kawal.remote"):
        after.gateway.advance(1)
        after.run_all()
    assert after.is_stopped
    assert "take nothing more until the next start" in caplog.text
    assert "lacks records that were acknowledged" in caplog.text
    assert told(after.produce(batch(b"two"))) == [(STORAGE, -1)]


def test_appends_are_taken_again_when_what_waited_was_dropped() -> None:
    remote = Remote(queued_max_request_bytes=1_000_000).opened("t")
    assert databases(remote, DatabaseAction.CREATE, "metrics") == 0
    journal = remote.copy.journal
    journal._journal.waiting_bytes += 600_000
    journal.look_behind()
    assert told(remote.produce(batch(b"refused"))) == [(STORAGE, -1)]
    journal._journal.waiting_bytes -= 600_000
    (vnode,) = remote.gateway.broker.vnodes["metrics"]
    journal.forget(vnode)
    client = remote.produce(batch(b"taken"))
    remote.run_all()
    assert told(client) == [(0, 0)]


def test_without_a_log_of_the_class_no_chunk_is_made() -> None:
    objects = MemoryObjects()
    remote = Remote(objects, kawal_durability="disk").opened_without_journal("t")
    assert not remote.copy.journal.is_wanted
    assert remote.copy.journal.chunk is None
    remote.gateway.advance(20_000)
    remote.run_all()
    assert not any("/journal/" in call.key for call in objects.calls)


def test_a_log_that_stops_sends_nothing_of_what_it_took_back_and_the_copy_can_be_restored() -> None:
    remote = Remote().opened("t")
    first = remote.produce(batch(b"x" * 30_000))
    remote.run_all()
    others = [remote.produce(batch(b"x" * 8_000)) for _ in range(5)]
    vnode = remote.gateway.partition("t").vnode
    remote.gateway.broker.logs.stop(vnode, OSError("ours"), remote.gateway.now_ms)
    assert told(first) == [(0, 0)]
    assert [told(client) for client in others] == [[(STORAGE, -1)]] * 5
    remote.run_all()
    assert remote.copy.journal._journal.waiting_bytes == 0
    assert restarted_elsewhere(remote).end_mark() == 4
