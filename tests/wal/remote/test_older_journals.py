"""The journals of earlier processes: compared with the directory, ended, and removed when a cut has them."""

from __future__ import annotations

import pytest

from tests.wal.logs import batch
from tests.wal.remote.copies import bodies, restored
from tests.wal.remote.journals import FIRST, Writer, mark, opened
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import ObjectCall, ObjectFault
from wal.objects import Fenced, StoreAway
from wal.remote.journal_format import journal_key
from wal.remote.older_journals import OlderJournals
from wal.remote.same_history import RemoteAhead


def keys(writer: Writer) -> list[tuple[int, int]]:
    """Return the places of all objects of journals that are in the store."""
    found = [key.split("/")[2:] for key in writer.objects.objects if key.startswith("cluster/journal/")]
    return sorted((int(epoch), int(number)) for epoch, number in found)


def stored(writer: Writer, *values: bytes) -> None:
    """Have records in the store, a chunk each."""
    for body in values:
        writer.write(body)
        writer.send()


def successor(writer: Writer, disk: MemoryDisk | None = None, name: str = "b") -> Writer:
    """Return the next process, on the disk as a power cut leaves it, or on another."""
    return Writer(writer.objects, disk or writer.disk.crash(DROP_ALL), incarnation=name)


def test_a_process_on_the_same_disk_goes_on_though_frames_are_ahead_of_the_store() -> None:
    writer = opened()
    stored(writer, b"1")
    writer.write(b"ahead")
    after = successor(writer)
    after.round()
    assert bodies(after.logs[FIRST]) == [b"1", b"ahead"]
    assert keys(after) == [(1, 0), (1, 1)]
    stored(after, b"2")
    assert bodies(successor(after, restored(after.objects), "c").logs[FIRST]) == [b"1", b"ahead", b"2"]


def test_an_old_disk_is_refused_with_a_sentence_and_the_old_process_goes_on() -> None:
    writer = opened()
    stored(writer, b"1")
    old = writer.disk.crash(DROP_ALL)
    stored(writer, b"2")
    before = dict(writer.objects.objects)
    sentence = (
        "data/default/vnode-0 lacks records that were acknowledged: in the journal in memory .* has "
        "other bytes from .* restore a directory from the store with 'kawal restore'"
    )
    with pytest.raises(RemoteAhead, match=sentence):
        successor(writer, old).round()
    assert writer.objects.objects == before
    stored(writer, b"3")
    assert writer.logs[FIRST].high_watermark(7) == 3


def test_a_disk_with_another_history_is_refused() -> None:
    writer = opened()
    stored(writer, b"1")
    other = Writer(disk=MemoryDisk())
    other.record(b"catalogue")
    log = other.logs[FIRST]
    log.append(7, batch(body=b"x"))
    log.synced(other.flush().job, 0)
    with pytest.raises(RemoteAhead):
        successor(writer, other.disk.crash(DROP_ALL)).round()


def test_what_an_old_process_adds_between_look_and_fence_is_compared_too() -> None:
    writer = opened()
    stored(writer, b"1")
    after = successor(writer)
    late: list[bytes] = [b"2"]

    def hook(call: ObjectCall) -> None:
        if call.kind == "replace" and late:
            body = late.pop()
            stored(writer, body)

    writer.objects.hook = hook
    with pytest.raises(RemoteAhead, match="lacks records that were acknowledged"):
        after.round()
    assert after.uploader.cut is not None
    assert after.journal.mark.epoch == 0, "it has acknowledged nothing"
    writer.objects.hook = None
    third = successor(writer, restored(writer.objects), "c")
    third.round()
    assert bodies(third.logs[FIRST]) == [b"1", b"2"]


def test_an_old_process_acknowledges_nothing_after_its_fence() -> None:
    writer = opened()
    stored(writer, b"1")
    after = successor(writer)
    after.round()
    writer.write(b"2")
    (put,) = writer.journal.begin()
    with pytest.raises(Fenced) as raised:
        put.run()
    assert writer.done(put, raised.value) == []
    assert writer.logs[FIRST].high_watermark(7) == 1


@pytest.mark.parametrize("fault", [ObjectFault.AWAY, ObjectFault.LOST, ObjectFault.LATE])
def test_a_take_over_that_is_interrupted_anywhere_is_done_again(fault: ObjectFault) -> None:
    for nth in range(100):
        writer = opened()
        stored(writer, b"1", b"2")
        after, calls = successor(writer), 0

        def hook(_call: ObjectCall, nth: int = nth) -> ObjectFault | None:
            nonlocal calls
            calls += 1
            return fault if calls == nth + 1 else None

        writer.objects.hook = hook
        for _ in range(3):
            try:
                after.round()
                break
            except StoreAway:
                continue
        assert after.journal.mark.epoch == 2
        writer.objects.hook = None
        stored(after, b"3")
        writer.objects.land_late()
        assert bodies(successor(after, restored(after.objects), "c").logs[FIRST]) == [b"1", b"2", b"3"]
        if calls <= nth:
            return
    pytest.fail("more calls than were expected")


def test_chunks_go_some_time_after_a_cut_has_them_and_fences_stay() -> None:
    writer = opened()
    stored(writer, b"1", b"2", b"3")
    after = successor(writer)
    after.round()
    assert keys(after) == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert after.uploader.clean(after.now_ms + 999, count=9) == 0
    after.uploader.clean(after.now_ms + 1_000, count=99)
    assert keys(after) == [(1, 3)]
    stored(after, b"4")
    assert keys(after) == [(1, 3), (2, 0)]
    after.round()
    after.uploader.clean(after.now_ms + 1_000, count=99)
    after.uploader.sweep(after.now_ms)
    after.uploader.clean(after.now_ms + 9_000, count=99)
    assert keys(after) == [(1, 3)]


def test_a_sweep_leaves_fences_and_what_follows_the_cut_and_takes_late_chunks_of_old_processes() -> None:
    writer = opened()
    writer.write(b"1")
    (first,) = writer.journal.begin()
    writer.write(b"2")
    (second,) = writer.journal.begin()
    after = successor(writer)
    after.round()
    second.run()
    stored(after, b"3")
    assert keys(after) == [(1, 0), (1, 1), (2, 0)]
    after.uploader.sweep(after.now_ms)
    after.uploader.clean(after.now_ms + 9_000, count=99)
    assert keys(after) == [(1, 0), (2, 0)]
    with pytest.raises(Fenced):
        first.run()


def test_the_chunks_between_two_marks_are_useless_and_none_without_a_mark() -> None:
    writer = opened()
    older = OlderJournals(writer.objects, writer.disk, prefix="cluster", path="data")
    assert older.useless_keys(mark(1, 2), mark(1, 4)) == [journal_key("cluster", 1, n) for n in (2, 3)]
    assert older.useless_keys(mark(1, 2), mark(1, 2)) == []
    assert older.useless_keys(None, mark(1, 2)) == []
    assert older.useless_keys(mark(1, 2), None) == []


def test_a_log_of_which_nothing_is_there_was_dropped_and_is_not_missed() -> None:
    writer = opened()
    stored(writer, b"1")
    older = OlderJournals(writer.objects, writer.disk, prefix="cluster", path="data")
    views = writer.views()
    del views[FIRST]
    older.look(views, mark(1, 0), epoch=1)
    assert older._chunks == []


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("is_synced", [False, True])
def test_a_crash_between_append_sync_put_and_acknowledgement_loses_nothing(
    is_synced: bool, is_stored: bool
) -> None:
    """An acknowledged record is there in each case; one that was not is there whole, or not at all."""
    writer = opened()
    stored(writer, b"1")
    log = writer.logs[FIRST]
    log.append(7, batch(body=b"2"))
    if is_synced:
        writer.flush()
        (put,) = writer.journal.begin()
        if is_stored:
            put.run()
    after = successor(writer)
    after.round()
    assert bodies(after.logs[FIRST]) == [b"1", b"2"][: 1 + is_synced]
    fresh = successor(after, restored(after.objects), "c")
    assert bodies(fresh.logs[FIRST]) == [b"1", b"2"][: 1 + is_synced]
    lost = successor(writer, restored(writer.objects), "d")
    assert bodies(lost.logs[FIRST])[:1] == [b"1"]
