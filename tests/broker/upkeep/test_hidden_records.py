"""Records of an earlier process of durability `remote`, hidden until the object store has them."""

from __future__ import annotations

from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.kit import batch, creation, fetching
from tests.broker.upkeep.remote import Remote, restarted_elsewhere
from wal.memory_image import DROP_ALL


def fetched(remote: Remote, offset: int, name: str = "t") -> tuple[int, int, bytes]:
    """Return error, high watermark and records that a fetch from an offset gets at once."""
    client = remote.gateway.client()
    client.send(fetching({(name, 0): offset}), 12)
    remote.gateway.settle()
    (answer,) = client.answers()
    (found,) = answer.responses[0].partitions
    return found.error_code, found.high_watermark, bytes(found.records or b"")


def test_what_a_crash_left_out_of_the_store_is_not_shown_before_it_is_there() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    remote.run_all()
    remote.produce(batch(b"two"))  # on the disk, and in no chunk
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    assert b"two" not in fetched(after, 0)[2]
    assert restarted_elsewhere(remote).end_mark() == 1, "a take-over now would lose it"


def test_what_was_hidden_after_a_crash_is_shown_to_those_who_wait_once_the_store_has_it() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    client = after.gateway.client()
    client.send(fetching({("t", 0): 0}, max_wait_ms=60_000), 12)
    after.gateway.settle()
    assert client.answers() == []
    after.opened()
    (answer,) = client.answers()
    assert b"one" in bytes(answer.responses[0].partitions[0].records)
    assert after.end_mark() == 1


def test_a_reader_that_had_more_than_is_shown_after_a_crash_waits_and_is_not_reset() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    remote.run_all()
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    assert fetched(after, 1) == (0, 0, b"")
    after.opened()
    assert fetched(after, 1) == (0, 1, b"")


def test_a_shutdown_before_the_store_has_all_leaves_it_hidden_at_the_next_start() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    for process in (remote, Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")):
        process.gateway.broker.begin_stop(process.gateway.now_ms)
        process.gateway.broker.close(process.gateway.now_ms)
        after = Remote(remote.objects, process.gateway.disk.crash(DROP_ALL), incarnation="c")
        assert after.end_mark() == 0
    assert after.opened().end_mark() == 1


def test_after_a_clean_stop_with_all_in_the_store_nothing_is_hidden() -> None:
    remote = Remote().opened("t")
    remote.produce(batch(b"one"))
    remote.run_all()
    remote.gateway.broker.begin_stop(remote.gateway.now_ms)
    remote.gateway.broker.close(remote.gateway.now_ms)
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    assert after.end_mark() == 1


def test_a_view_over_the_database_ends_before_what_the_store_may_lack() -> None:
    remote = Remote().opened("t")
    view = creation("all", -1, **{"kawal.sql": "DATABASE default"})
    remote.call(CreateTopicsRequest(topics=[view]), 7)
    remote.produce(batch(b"one"))
    after = Remote(remote.objects, remote.gateway.disk.crash(DROP_ALL), incarnation="b")
    assert b"one" not in fetched(after, 0, "all")[2]
    after.opened()
    assert b"one" in fetched(after, 0, "all")[2]
