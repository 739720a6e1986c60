"""Below the clean end a reader sees the copies and nothing else; a pass that does not end changes nothing."""

from __future__ import annotations

import pytest

from tests.wal.compactions import append_copies, compact, every_fifth, filled, seen
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.disk_errors import DiskFull
from wal.errors import LogClosed, StreamDropped
from wal.format import COPIES_BIT, EntryKind
from wal.memory_disk import MemoryDisk


def test_readers_see_copies_below_the_clean_end_and_originals_above() -> None:
    log = filled(MemoryDisk())
    before, other = seen(log, 7), seen(log, 8)

    compact(log, 7, 30, every_fifth)

    expected = {base: data for base, data in before.items() if base >= 30 or every_fifth(base)}
    for max_bytes in (1, 100, 300, 1 << 20):
        assert seen(log, 7, max_bytes) == expected
    assert seen(log, 8) == other
    assert (log.clean_end(7), log.log_start(7), log.high_watermark(7)) == (30, 0, 40)
    assert log.clean_end(8) == 0


def test_a_fetch_from_an_offset_that_is_gone_goes_on_with_the_next_batch() -> None:
    log = filled(MemoryDisk())
    compact(log, 7, 30, every_fifth)

    found = {offset: log.read(7, offset, 1).next_offset for offset in (0, 1, 2, 9, 10, 12, 21, 22, 29, 30)}

    assert found == {0: 2, 1: 2, 2: 12, 9: 12, 10: 12, 12: 22, 21: 22, 22: 32, 29: 32, 30: 32}


def test_a_clean_end_inside_an_extent_hides_the_batches_below_it() -> None:
    log = open_log(MemoryDisk())
    for number in range(10):
        log.append(7, batch(1, body=b"%d" % number, timestamp=number))
    commit(log)

    compact(log, 7, 5, lambda base: base == 2)

    assert list(seen(log, 7)) == [2, 5, 6, 7, 8, 9]
    assert [(extent.base_offset, extent.next_offset) for extent in log.extents(7)] == [(2, 3), (5, 10)]
    found = log.find_timestamp(7, 3)
    assert found is not None
    assert found.base_offset == 5
    first = log.find_timestamp(7, 0)
    assert first is not None
    assert first.base_offset == 2


def test_a_pass_over_copies_replaces_them() -> None:
    log = filled(MemoryDisk())
    before = seen(log, 7)
    compact(log, 7, 20, every_fifth)
    compact(log, 7, 36, lambda base: base in {10, 34})

    assert seen(log, 7) == {base: before[base] for base in (10, 34, 36, 38)}
    assert log.copied_bytes(7) == len(before[10]) + len(before[34])
    assert log.stream_size_bytes(7) == sum(len(before[base]) for base in (10, 34, 36, 38))
    assert [stream_id for stream_id in log._state.streams if stream_id >= COPIES_BIT] == [
        log._state.streams[7].copies_id
    ]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_restart_keeps_what_compaction_did(clean: bool, checkpoint: bool) -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 30, every_fifth)
    size_bytes, expected = log.stream_size_bytes(7), seen(log, 7)
    if checkpoint:
        log._maintenance.checkpoint_wanted = True
        maintain(log)
    if clean:
        log.close(0)

    disk = disk if clean else disk.crash()
    again = open_log(disk)

    assert seen(again, 7) == expected
    assert (again.clean_end(7), again.stream_size_bytes(7)) == (30, size_bytes)
    assert list(again.streams()) == [7, 8]
    compact(again, 7, 38, lambda base: base == 20)
    assert list(seen(open_log(disk.crash()), 7)) == [20, 38]


def test_copies_that_were_never_said_to_count_are_forgotten_by_a_restart() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    before = seen(log, 7)
    copies_id = append_copies(log, 7, 30, every_fifth)
    commit(log)

    again = open_log(disk.crash())

    assert seen(again, 7) == before
    assert not [stream_id for stream_id in again._state.streams if stream_id >= COPIES_BIT]
    renewed = again.begin_copies()
    assert renewed is not None
    assert renewed > copies_id


def test_a_pass_that_is_given_up_leaves_everything_as_it_was() -> None:
    log = filled(MemoryDisk())
    before = seen(log, 7)
    copies_id = append_copies(log, 7, 30, every_fifth)
    assert log.begin_copies() is None, "one pass at a time"
    commit(log)

    log.give_up_copies(copies_id)
    log.give_up_copies(copies_id)

    assert seen(log, 7) == before
    compact(log, 7, 30, every_fifth)
    assert list(seen(log, 7)) == [0, 10, 20, 30, 32, 34, 36, 38]


def test_an_ended_pass_cannot_be_undone_by_giving_it_up() -> None:
    log = filled(MemoryDisk())
    compact(log, 7, 30, every_fifth)
    log.give_up_copies(log._state.streams[7].copies_id)
    assert list(seen(log, 7))[:3] == [0, 10, 20]


def test_segments_go_when_only_what_was_replaced_lies_in_them() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10, delete_delay_ms=0))
    for number in range(60):
        log.append(7, batch(1, body=b"x" * 200, timestamp=number))
        commit(log)
    before = len(disk.list(DIRECTORY))

    compact(log, 7, 55, lambda base: base % 20 == 0)
    for number in range(4):
        log._maintenance.checkpoint_wanted = True
        maintain(log, number * 2_000)
        log.retire_segments()
        commit(log, number * 2_000)
    maintain(log, 20_000)

    assert list(seen(log, 7)) == [0, 20, 40, 55, 56, 57, 58, 59]
    segments = [name for name in disk.list(DIRECTORY) if name.endswith(".wal")]
    assert len(segments) <= 3 < before
    assert list(seen(open_log(disk.crash()), 7)) == [0, 20, 40, 55, 56, 57, 58, 59]


def test_a_log_start_moves_over_copies_and_past_them() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 30, every_fifth)
    log.set_log_start(7, 15)
    commit(log)
    assert list(seen(log, 7))[:2] == [20, 30]
    log.set_log_start(7, 34)
    commit(log)

    assert list(seen(log, 7)) == [34, 36, 38]
    assert not [stream_id for stream_id in log._state.streams if stream_id >= COPIES_BIT]
    assert list(seen(open_log(disk.crash()), 7)) == [34, 36, 38]


def test_a_dropped_stream_takes_its_copies_along() -> None:
    log = filled(MemoryDisk())
    compact(log, 7, 30, every_fifth)
    copies_id = append_copies(log, 7, 34, every_fifth)
    commit(log)
    log.drop_stream(7)
    with pytest.raises(StreamDropped):
        log.let_copies_count(7, clean_end=34, copies_id=copies_id)
    log.give_up_copies(copies_id)
    commit(log)

    assert list(log._state.streams) == [8]


def test_a_drop_between_the_copies_and_their_word_wins_at_replay() -> None:
    log = filled(MemoryDisk())
    copies_id = append_copies(log, 7, 30, every_fifth)
    log.let_copies_count(7, clean_end=30, copies_id=copies_id)
    log._state.streams.pop(7)
    commit(log)
    assert list(log._state.streams) == [8]


def test_a_pass_without_survivors_leaves_nothing_below_the_clean_end() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 30, lambda base: False)

    for opened in (log, open_log(disk.crash())):
        assert list(seen(opened, 7)) == [30, 32, 34, 36, 38]
        assert opened.read(7, 0, 1).next_offset == 32
        assert opened.copied_bytes(7) == 0


def test_the_largest_timestamp_is_that_of_what_is_left() -> None:
    log = open_log(MemoryDisk())
    for timestamp in (5, 900, 7, 8):
        log.append(7, batch(1, timestamp=timestamp))
    commit(log)
    before = log.max_timestamp(7)
    assert before is not None
    assert before.base_offset == 1

    compact(log, 7, 3, lambda base: base != 1)

    found = log.max_timestamp(7)
    assert found is not None
    assert (found.base_offset, found.max_timestamp) == (3, 8)


def test_what_is_appended_meanwhile_is_not_touched() -> None:
    log = filled(MemoryDisk())
    copies_id = append_copies(log, 7, 30, every_fifth)
    log.append(7, batch(1, body=b"new"))
    log.let_copies_count(7, clean_end=30, copies_id=copies_id)
    log.append(7, batch(1, body=b"newer"))
    advanced = commit(log)

    assert list(seen(log, 7)) == [0, 10, 20, 30, 32, 34, 36, 38, 40, 41]
    assert {stream.stream_id for stream in advanced} == {7}, "copies wake no reader"


def test_copies_take_no_room_in_the_cache_of_what_came_last() -> None:
    log = filled(MemoryDisk())
    before = log._state.tail.size_bytes
    compact(log, 7, 30, every_fifth)
    assert log._state.tail.size_bytes == before
    assert list(seen(log, 7))[:3] == [0, 10, 20]


def test_views_by_version_see_each_record_once() -> None:
    log = filled(MemoryDisk(), batches=4)
    before = log.read_versions(0, 1 << 20)
    compact(log, 7, 6, lambda base: base == 0)

    after = log.read_versions(0, 1 << 20)

    assert after[: len(before)] == before
    assert [entry.kind for entry in after[len(before) :]] == [EntryKind.META]


def test_copies_do_not_touch_what_is_known_of_producers() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    from wal.producers import ProducerStamp

    for number in range(3):
        stamp = ProducerStamp(5, 0, number, 1)
        log.append(7, batch(1, producer=(5, 0, number)), producer=stamp)
    commit(log)
    before = log.producers(7).describe()
    compact(log, 7, 2, lambda base: True)

    again = open_log(disk.crash())

    assert [producer._replace(last_timestamp_ms=0) for producer in again.producers(7).describe()] == [
        producer._replace(last_timestamp_ms=0) for producer in before
    ]
    assert list(again._state.producers._streams) == [7]


def test_a_full_disk_refuses_copies_and_nothing_is_lost() -> None:
    log = filled(MemoryDisk())
    before = seen(log, 7)
    copies_id = log.begin_copies()
    assert copies_id is not None
    log._state.full = True
    with pytest.raises(DiskFull):
        log.append_copy(copies_id, before[0])
    log.give_up_copies(copies_id)
    log._state.full = False
    assert seen(log, 7) == before


def test_a_failed_commit_loses_the_pass_only() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    before = seen(log, 7)
    copies_id = append_copies(log, 7, 30, every_fifth)
    log.let_copies_count(7, clean_end=30, copies_id=copies_id)
    job = log.begin_sync(0)
    assert job is not None
    log.failed(job, OSError(5, "broken"), 0)

    log.give_up_copies(copies_id)
    commit(log, 10_000)

    assert (log.state, log.clean_end(7)) == ("OPEN", 0)
    assert seen(log, 7) == before
    compact(log, 7, 30, every_fifth)
    assert list(seen(open_log(disk.crash()), 7)) == [0, 10, 20, 30, 32, 34, 36, 38]


def test_no_gap_is_left_at_the_end_of_a_stream() -> None:
    log = filled(MemoryDisk())
    copies_id = append_copies(log, 7, 40, every_fifth)
    with pytest.raises(AssertionError):
        log.let_copies_count(7, clean_end=40, copies_id=copies_id)


def test_a_closed_log_takes_no_copies() -> None:
    log = filled(MemoryDisk())
    copies_id = log.begin_copies()
    assert copies_id is not None
    log.close(0)
    with pytest.raises(LogClosed):
        log.append_copy(copies_id, bytes(batch(1)))
    log.give_up_copies(copies_id)
    assert log.begin_copies() is None


def test_offsets_far_apart_make_extents_of_their_own() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(7, batch(1, body=b"first"))
    for number in range(5):
        log.append(7, batch(2**31 - 1, body=b"wide-%d" % number))
        commit(log)
    log.append(7, batch(1, body=b"last"))
    commit(log)
    first = next(iter(seen(log, 7)))
    end = log.high_watermark(7) - 1

    compact(log, 7, end, lambda base: base in (first, end - (2**31 - 1)))

    for opened in (log, open_log(disk.crash())):
        assert list(seen(opened, 7)) == [0, end - (2**31 - 1), end]
