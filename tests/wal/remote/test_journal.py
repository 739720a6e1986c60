"""The journal, call by call: what is sent when, and what counts after that."""

from __future__ import annotations

import errno

import pytest

from tests.wal.remote.journals import FIRST, SECOND, LogCommit, Writer, mark, opened
from wal.disk_errors import DiskError
from wal.memory_faults import failing
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.objects import Fenced, StoreAway
from wal.remote.journal import CHUNK_BYTES, IN_FLIGHT_MAX, JournalState, Put
from wal.remote.journal_format import decode_journal, journal_key
from wal.store import META
from wal.unstored import FileSlice, LogPlace


def chunk(writer: Writer, number: int) -> list[tuple[str, int]]:
    """Return the logs of the slices of a chunk in the store, with their positions."""
    key = journal_key("cluster", 1, number)
    found = decode_journal(writer.objects.read(key).data, key)
    return [(part.log, part.position) for part in found.header.slices]


def flown(writer: Writer, count: int) -> list[Put[LogCommit]]:
    """Return so many chunks on their way, with a commit each."""
    puts = []
    for number in range(count):
        writer.write(b"%d" % number)
        puts += writer.journal.begin()
    return puts


def test_nothing_is_sent_before_a_cut_says_that_the_journal_follows_it() -> None:
    writer = Writer()
    writer.write(b"early")
    assert writer.journal.begin() == []
    worked = writer.journal.is_working
    writer.round()
    assert (worked, writer.journal.is_working) == (False, True)
    (put,) = writer.journal.begin()
    assert put.number == 0


def test_three_chunks_are_on_their_way_and_later_commits_share_the_next_one() -> None:
    writer = opened()
    puts = flown(writer, 5)
    assert [put.number for put in puts] == [0, 1, 2]
    assert len(writer.journal.in_flight) == IN_FLIGHT_MAX
    puts[0].run()
    assert len(writer.done(puts[0])) == 1
    (last,) = writer.journal.begin()
    assert len(last.commits) == 2


def test_commits_count_in_the_order_of_their_chunks_though_requests_end_otherwise() -> None:
    writer = opened()
    puts = flown(writer, 3)
    for put in reversed(puts):
        put.run()
    assert writer.done(puts[2]) == []
    assert writer.done(puts[1]) == []
    assert writer.logs[FIRST].high_watermark(7) == 0
    assert writer.done(puts[0]) == [commit for put in puts for commit in put.commits]
    assert writer.logs[FIRST].high_watermark(7) == 3
    assert writer.journal.waiting_bytes == 0


def test_the_mark_is_the_first_chunk_whose_commits_do_not_count() -> None:
    writer = opened()
    puts = flown(writer, 3)
    assert writer.journal.mark == mark(1, 0)
    puts[1].run()
    writer.done(puts[1])
    assert writer.journal.mark == mark(1, 0)
    puts[0].run()
    writer.done(puts[0])
    assert writer.journal.mark == mark(1, 2)
    puts[2].run()
    writer.done(puts[2])
    assert writer.journal.mark == mark(1, 3)


def test_a_chunk_without_an_answer_is_sent_again_with_the_same_bytes() -> None:
    writer = opened()
    (put,) = flown(writer, 1)
    faults = [ObjectFault.LATE, ObjectFault.LOST, ObjectFault.AWAY]
    writer.objects.hook = lambda call: faults.pop() if faults and call.kind == "create" else None
    for _ in range(3):
        with pytest.raises(StoreAway):
            put.run()
        assert writer.done(put, StoreAway("no answer")) == []
    put.run()
    writer.objects.land_late()
    assert len(writer.done(put)) == 1


def test_a_fenced_journal_counts_nothing_more_not_even_what_arrives() -> None:
    writer = opened()
    puts = flown(writer, 3)
    writer.objects.create(journal_key("cluster", 1, 1), b"another's")
    with pytest.raises(Fenced) as raised:
        puts[1].run()
    assert writer.done(puts[1], raised.value) == []
    puts[0].run()
    assert writer.done(puts[0]) == []
    assert writer.journal.state is JournalState.FENCED
    assert not writer.journal.is_working
    assert writer.journal.waiting_bytes == 0
    writer.write(b"late")
    assert writer.journal.begin() == []


def test_commits_of_all_logs_share_a_chunk() -> None:
    writer = Writer()
    writer.round()
    puts = flown(writer, 3)
    writer.write(b"a", SECOND)
    writer.write(b"b", FIRST)
    for put in puts:
        put.run()
        writer.done(put)
    (shared,) = writer.send()
    assert [commit.name for commit in shared.commits] == [SECOND, FIRST]
    assert sorted(name for name, _ in chunk(writer, 3)) == [FIRST, SECOND]


def test_a_chunk_ends_with_the_commit_that_would_make_it_too_large() -> None:
    writer = Writer()
    writer.write(b"a", FIRST)
    writer.write(b"x" * CHUNK_BYTES, SECOND)
    writer.write(b"b", FIRST)
    writer.write(b"c", FIRST)
    writer.round()
    assert [len(put.commits) for put in writer.journal.begin()] == [1, 1, 2]


def test_each_chunk_has_what_is_new_in_the_catalogue() -> None:
    writer = opened()
    writer.write(b"1")
    writer.send()
    writer.record(b"topic")
    for body in (b"2", b"3"):
        writer.write(body)
        writer.send()
    logs = [{name for name, _ in chunk(writer, number)} for number in range(3)]
    assert [META in found for found in logs] == [False, True, False]


def test_what_a_cut_has_is_not_sent_again_and_logs_that_it_lacks_are_named() -> None:
    writer = opened()
    first = writer.write(b"1")
    writer.send()
    writer.round()
    writer.write(b"2")
    writer.send()
    assert chunk(writer, 1) == [(FIRST, first.job.position + first.job.size_bytes)]
    key = journal_key("cluster", 1, 1)
    assert decode_journal(writer.objects.read(key).data, key).header.logs == ()
    fresh = Writer()
    fresh.journal.covered({META: fresh.meta.place})
    fresh.journal.open(1)
    fresh.write(b"3")
    fresh.send()
    key = journal_key("cluster", 1, 0)
    assert decode_journal(fresh.objects.read(key).data, key).header.logs == (FIRST, SECOND)


def test_a_log_that_was_dropped_sends_nothing_more() -> None:
    writer = Writer()
    writer.write(b"a", FIRST)
    writer.write(b"b", SECOND)
    writer.journal.forget(FIRST)
    assert writer.journal.waiting_bytes == writer.logs[SECOND].unstored[0].size_bytes
    writer.round()
    (put,) = writer.send()
    assert [commit.name for commit in put.commits] == [SECOND]


class BrokenCommit(LogCommit):
    """A commit whose file cannot be opened."""

    def slices(self, since: LogPlace) -> list[FileSlice]:
        """Fail."""
        raise DiskError("open", "vnode-1", errno.EIO)


def test_a_chunk_whose_file_cannot_be_opened_keeps_none_back_that_was_cut_before() -> None:
    writer = Writer()
    large, broken = writer.write(b"x" * CHUNK_BYTES, FIRST), writer.write(b"b", SECOND)
    writer.journal._waiting[-1] = BrokenCommit(*broken)
    writer.round()
    (put,) = writer.journal.begin()
    assert put.commits == [large]
    with pytest.raises(DiskError):
        writer.journal.begin()
    assert list(writer.journal.in_flight) == [put]
    writer.journal._waiting[-1] = broken
    (later,) = writer.journal.begin()
    assert (later.number, later.commits) == (1, [broken])


def test_bytes_that_cannot_be_read_now_are_read_again() -> None:
    writer = opened()
    (put,) = flown(writer, 1)
    writer.disk.faults.append(failing("read", errno.EIO))
    with pytest.raises(DiskError):
        put.run()
    assert writer.done(put, DiskError("read", "x", errno.EIO)) == []
    put.run()
    assert len(writer.done(put)) == 1


def test_a_journal_needs_no_store_to_wait() -> None:
    objects = MemoryObjects(lambda _call: ObjectFault.AWAY)
    writer = Writer(objects)
    writer.write(b"a")
    assert writer.journal.waiting_bytes > 0
    assert writer.logs[FIRST].high_watermark(7) == 0
