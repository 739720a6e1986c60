"""The journal written over a restored cut: byte by byte what the writer had, or an error that says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wal.remote.copies import bodies, restored
from tests.wal.remote.journals import FIRST, REMOTE, SECOND, Writer, opened
from tests.wal.stores import open_store
from wal.errors import ForeignDirectory
from wal.format import FIRST_FRAME_POSITION
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.remote.formats import RemoteDamaged
from wal.remote.journal_format import journal_key
from wal.remote.restore import RemoteRestore
from wal.remote.restored_copy import RestoredCopy
from wal.segment import segment_name
from wal.store import META
from wal.store_marker import MARKER
from wal.unstored import LogPlace


def log_of(disk: MemoryDisk, name: str = FIRST) -> VnodeLog:
    """Start on a disk, and return a log."""
    return open_store(disk).open_vnode("default", int(name[-1]), now_ms=0, options=REMOTE)


def test_what_was_stored_after_the_cut_comes_back() -> None:
    writer = opened()
    for number in range(5):
        writer.write(b"%d" % number)
        writer.write(b"s%d" % number, SECOND)
        writer.record(b"record")
        writer.send()
    disk = restored(writer.objects)
    for name in (FIRST, SECOND, META):
        path = f"data/{name}/{segment_name(0)}"
        found = disk.contents(path)
        assert found == writer.disk.contents(path)[: len(found)]
    assert bodies(log_of(disk.crash(DROP_ALL))) == [b"%d" % number for number in range(5)]
    assert bodies(log_of(disk.crash(DROP_ALL), SECOND)) == [b"s%d" % number for number in range(5)]


def test_a_log_that_is_not_wanted_is_not_made_by_what_the_journal_has_of_it() -> None:
    writer = opened()
    for number in range(3):
        writer.write(b"%d" % number)
        writer.write(b"s%d" % number, SECOND)
        writer.send()
    disk = MemoryDisk()
    copy = RestoredCopy(writer.objects, disk, cluster_id="cluster", data="data", at_ms=None)
    copy.measure()
    for folder in ("data", f"data/{META}", "data/default", f"data/{FIRST}"):
        disk.make_directory(folder)
    for name in (META, FIRST):
        list(copy.write_log(name))
    assert sum(copy.replay(lambda name: name != SECOND)) > 0
    assert disk.list("data/default") == [FIRST.rpartition("/")[2]]
    assert copy.new_logs == []


def test_segments_that_were_begun_and_closed_after_the_cut_come_back() -> None:
    writer = opened()
    for number in range(12):
        writer.write(b"%d" % number + b"x" * 20_000)
        writer.send()
    assert len(writer.logs[FIRST].view().bases) > 3
    found = bodies(log_of(restored(writer.objects)))
    assert [body.rstrip(b"x") for body in found] == [b"%d" % number for number in range(12)]


def test_segments_come_back_that_were_closed_while_their_commits_waited() -> None:
    """A roll and the commit after it share a chunk: the footer of the segment before must be in it."""
    writer = opened()
    for number in range(3):
        writer.write(b"%d" % number + b"x" * 19_000)
        writer.send()
    busy = []
    for _ in range(3):
        writer.write(b"other", SECOND)
        busy += writer.journal.begin()
    writer.write(b"3" + b"x" * 19_000)
    writer.write(b"4")
    for put in busy:
        put.run()
        writer.done(put)
    assert [len(put.commits) for put in writer.send()] == [2]
    assert len(writer.logs[FIRST].view().bases) == 2
    found = bodies(log_of(restored(writer.objects)))
    assert [body.rstrip(b"x") for body in found] == [b"%d" % number for number in range(5)]


def test_a_log_that_was_made_after_the_cut_comes_back_also_without_records() -> None:
    writer = Writer()
    names = [META, FIRST]
    writer.journal._logs = lambda: names
    places = {META: writer.meta.place, FIRST: writer.logs[FIRST].place}
    views = {name: view for name, view in writer.views().items() if name in places}
    writer.uploader.take_over(views, 0)
    writer.uploader.round(views, budget_bytes=1 << 30, now_ms=1, chunk=0)
    writer.journal.covered(places)
    writer.journal.open(1)
    names.append(SECOND)
    writer.write(b"1")
    writer.send()
    disk = restored(writer.objects)
    assert disk.list(f"data/{SECOND}") == ["restored"]
    writer.write(b"2", SECOND)
    writer.send()
    assert bodies(log_of(restored(writer.objects), SECOND)) == [b"2"]


def test_a_seal_of_the_catalogue_in_the_cut_stays_when_an_older_chunk_is_written_over_it() -> None:
    """The chunk has the catalogue from its first byte: the file must not be cut back to what that had."""
    writer = Writer()
    writer.record(b"1")
    writer.journal.covered({})
    writer.uploader.take_over(writer.views(), 0)
    writer.uploader.round(writer.views(), budget_bytes=1 << 30, now_ms=1, chunk=0)
    writer.journal.open(1)
    writer.write(b"a")
    (put,) = writer.journal.begin()
    writer.sync_meta(10_000_000)
    writer.round()
    put.run()
    writer.done(put)
    writer.record(b"2")
    writer.write(b"b")
    writer.send()
    disk = restored(writer.objects)
    assert open_store(disk).catalogue.records == [b"1", b"2"]


def test_a_log_that_was_dropped_before_the_cut_is_left_out() -> None:
    """A chunk with its last frames was still on its way when the cut was made."""
    writer = opened()
    writer.write(b"1", SECOND)
    writer.send()
    writer.write(b"2", SECOND)
    (put,) = writer.journal.begin()
    del writer.logs[SECOND]
    writer.round()
    put.run()
    writer.done(put)
    writer.write(b"3")
    writer.send()
    disk = restored(writer.objects)
    assert disk.list("data/default") == ["vnode-0"]
    assert bodies(log_of(disk)) == [b"3"]


def test_bytes_that_are_missing_are_told_and_no_directory_is_made() -> None:
    writer = opened()
    writer.write(b"1")
    writer.journal._places[FIRST] = LogPlace(0, FIRST_FRAME_POSITION)
    writer.send()
    disk = MemoryDisk()
    with pytest.raises(RemoteDamaged, match=r"bytes of default/vnode-0/0+\.wal are missing: it ends at 0"):
        list(restoring(writer, disk))
    assert not disk.exists(f"data/{MARKER}")


def test_a_restore_that_is_slower_than_the_removal_of_chunks_is_told_to_begin_again() -> None:
    """Without a look at the cut, a chunk that is gone would be taken for the end of the journal."""
    writer = opened()
    writer.write(b"1")
    writer.send()
    disk = MemoryDisk()
    steps = restoring(writer, disk)
    next(iter(steps))
    writer.round()
    writer.objects.remove(journal_key("cluster", 1, 0))
    with pytest.raises(RemoteDamaged, match=r"cluster: a server went on writing.*begin the restore again"):
        list(steps)
    assert not disk.exists(f"data/{MARKER}")


def test_a_damaged_chunk_is_told_and_no_directory_is_made() -> None:
    writer = opened()
    writer.write(b"1")
    writer.send()
    key = journal_key("cluster", 1, 0)
    found = writer.objects.objects[key]
    writer.objects.objects[key] = found._replace(data=found.data[:-1] + bytes([found.data[-1] ^ 1]))
    disk = MemoryDisk()
    with pytest.raises(RemoteDamaged, match=key):
        list(restoring(writer, disk))
    assert not disk.exists(f"data/{MARKER}")


def restoring(writer: Writer, disk: MemoryDisk) -> Iterator[object]:
    """Return the steps of a restore to a disk."""
    return RemoteRestore(writer.objects, disk, cluster_id="cluster", data="data").run()


def test_a_restore_that_ends_between_any_two_calls_of_the_disk_leaves_nothing_that_starts() -> None:
    writer = opened()
    writer.write(b"1")
    writer.write(b"2", SECOND)
    writer.send()
    effects = 0
    whole = MemoryDisk()
    whole.observe = lambda _effect: count()

    def count() -> None:
        nonlocal effects
        effects += 1

    list(restoring(writer, whole))
    assert effects > 20
    for last in range(effects):
        for survivor in interrupted(writer, last):
            if survivor.exists(f"data/{MARKER}"):
                assert bodies(log_of(survivor)) == [b"1"], "the marker comes last"
            elif survivor.exists("data") and survivor.list("data"):
                with pytest.raises(ForeignDirectory):
                    open_store(survivor)


class PowerCut(Exception):
    """The end of the process."""


def interrupted(writer: Writer, last: int) -> list[MemoryDisk]:
    """Return the disk after so many effects of a restore: as the page cache has it, and after a power cut."""
    disk, seen = MemoryDisk(), 0

    def cut(_effect: object) -> None:
        nonlocal seen
        seen += 1
        if seen > last:
            raise PowerCut

    disk.observe = cut
    with pytest.raises(PowerCut):
        list(restoring(writer, disk))
    return [disk.kill(), disk.crash(DROP_ALL)]
