"""Ledgers roll at their limits, marks are few, and what is not durable is taken back."""

from __future__ import annotations

import pytest

from tests.wal.ledger_model import find, locate
from tests.wal.logs import DIRECTORY, batch, commit, open_log, small_options
from wal import ledgers as module
from wal.ledgers import (
    LEDGERS_MAX,
    MARK_BYTES,
    MARK_ENTRIES,
    Flags,
    Ledger,
    Ledgers,
    Limits,
    Mark,
    Span,
    read_mark,
)
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.repair import repair
from wal.stream import epoch_after_loss

ENDLESS = Limits(1 << 40, 1 << 40, 1 << 40)


def counted(limits: Limits = ENDLESS) -> Ledgers:
    ledgers = Ledgers()
    ledgers.limits = lambda: limits
    return ledgers


def taken(ledgers: Ledgers, sizes: list[int], *, wall_ms: int = 0) -> list[Mark]:
    """Append batches of these sizes and one offset each; make each durable."""
    marks = []
    for size in sizes:
        offset = ledgers.durable_ordinal
        mark = ledgers.take(size, epoch=ledgers.epoch, offset=offset, wall_ms=wall_ms)
        ledgers.written(1, size)
        if mark is not None:
            assert ledgers.put(mark)
            marks.append(mark)
    return marks


def test_a_mark_has_the_bytes_that_the_format_says() -> None:
    mark = Mark(1, 3, 9, 7, 5, 500, 2)

    assert mark.encode().hex() == (
        "07" "01" "03000000" "0900000000000000" "0700000000000000" "0500000000000000"
        "f401000000000000" "0200000000000000"
    )  # fmt: skip
    assert read_mark(mark.encode()) == mark


def test_the_first_batch_is_entry_0_of_ledger_0() -> None:
    ledgers = counted()

    (mark,) = taken(ledgers, [70, 70])

    assert mark == Mark(Flags.BEGINS, 0, 0, 0, 0, 0, 0)
    assert ledgers.ledgers == [Ledger(0, 0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("limits", "starts"),
    [
        (ENDLESS._replace(entries=3), [0, 3, 6]),
        (ENDLESS._replace(size_bytes=250), [0, 2, 4, 6]),
        (ENDLESS._replace(size_bytes=1), list(range(8))),
    ],
)
def test_a_ledger_ends_before_the_batch_beyond_a_limit(limits: Limits, starts: list[int]) -> None:
    ledgers = counted(limits)

    taken(ledgers, [100] * 8)

    assert [ledger.start_offset for ledger in ledgers.ledgers] == starts
    assert [ledger.ledger_id for ledger in ledgers.ledgers] == list(range(len(starts)))


def test_a_ledger_ends_by_its_age_and_not_when_a_clock_goes_back() -> None:
    ledgers = counted(ENDLESS._replace(age_ms=10))

    for wall_ms in (100, 110, 50, 111, 115):
        taken(ledgers, [70], wall_ms=wall_ms)

    assert [ledger.begun_ms for ledger in ledgers.ledgers] == [100, 111]


def test_marks_are_due_after_a_number_of_entries_or_bytes() -> None:
    assert [mark.offset for mark in taken(counted(), [1] * (2 * MARK_ENTRIES + 1))] == [
        0, MARK_ENTRIES, 2 * MARK_ENTRIES,
    ]  # fmt: skip
    assert [mark.offset for mark in taken(counted(), [MARK_BYTES // 2, MARK_BYTES // 2, 1, 1])] == [0, 2]
    assert [mark.offset for mark in taken(counted(), [MARK_BYTES] * 3)] == [0, 1, 2]


def test_with_very_many_ledgers_the_last_one_grows() -> None:
    ledgers = counted(ENDLESS._replace(entries=1))

    taken(ledgers, [70] * (LEDGERS_MAX + 5))

    assert len(ledgers.ledgers) == LEDGERS_MAX
    assert ledgers.ledgers[-1].ordinal == LEDGERS_MAX - 1
    ledgers.trim(10)
    taken(ledgers, [70])
    assert ledgers.epoch == LEDGERS_MAX


def test_without_limits_no_ledger_ends() -> None:
    ledgers = Ledgers()

    taken(ledgers, [1 << 20] * 5)

    assert len(ledgers.ledgers) == 1


def test_what_is_not_durable_is_taken_back() -> None:
    ledgers = counted(ENDLESS._replace(entries=2))
    taken(ledgers, [70, 70])

    for _ in range(3):
        mark = ledgers.take(70, epoch=0, offset=2, wall_ms=0)
        assert mark is not None
        assert (mark.ledger_id, mark.ordinal, mark.total_bytes) == (1, 2, 140)
        ledgers.revert()

    assert ledgers.epoch == 0


def test_a_mark_that_is_known_is_not_kept_twice() -> None:
    ledgers = counted(ENDLESS._replace(entries=2))
    first, second = taken(ledgers, [70] * 3)

    assert not ledgers.put(first)
    assert not ledgers.put(second)
    assert ledgers.offsets.tolist() == [0, 2]


def test_a_ledger_without_entries_makes_room_for_the_next() -> None:
    ledgers = counted()
    taken(ledgers, [70] * 2)
    for ledger_id in (1, 2):
        assert ledgers.put(ledgers.begin(ledger_id, offset=2, wall_ms=5))

    assert taken(ledgers, [70]) == []
    assert [(ledger.ledger_id, ledger.ordinal) for ledger in ledgers.ledgers] == [(0, 0), (2, 2)]
    assert ledgers.offsets.tolist() == [0, 2]


def test_ledgers_and_marks_before_the_log_start_are_forgotten_but_for_the_last() -> None:
    ledgers = counted(ENDLESS._replace(entries=2))
    taken(ledgers, [70] * 8)

    ledgers.trim(5)

    assert [ledger.ledger_id for ledger in ledgers.ledgers] == [2, 3]
    assert ledgers.offsets.tolist() == [4, 6]
    assert ledgers.ledger(1) is None
    assert ledgers.ledger(2) == (ledgers.ledgers[0], ledgers.ledgers[1])
    assert ledgers.ledger(3) == (ledgers.ledgers[1], None)
    assert ledgers.ledger(4) is None


def test_after_a_gap_nothing_is_counted_back_from_the_end() -> None:
    ledgers = counted()
    taken(ledgers, [70] * 3)

    ledgers.replay(70, offset=5, epoch=0, due=3, wall_ms=0)

    interval = ledgers.around_offset(5, 6)
    assert interval is not None
    assert not interval.end_counts
    mark = ledgers.take(70, epoch=0, offset=6, wall_ms=0)
    assert mark is not None
    assert (mark.ledger_id, mark.flags) == (1, Flags.BEGINS | Flags.UNCOUNTED)
    ledgers.revert()
    assert ledgers.take(70, epoch=0, offset=6, wall_ms=0) == mark, "a sync that failed changes nothing"


def test_a_ledger_whose_beginning_was_lost_is_numbered_from_its_next_mark() -> None:
    ledgers = counted()
    taken(ledgers, [70] * 3)

    ledgers.replay(70, offset=9, epoch=1, due=3, wall_ms=0)
    assert ledgers.ledgers[-1].flags & Flags.UNNUMBERED

    assert ledgers.put(Mark(0, 1, 12, 11, 7, 900, 4))
    assert ledgers.ledgers[-1] == Ledger(1, 9, 7, 210, 4, Flags.UNCOUNTED)
    ledgers.resume(12, 970)
    interval = ledgers.around_offset(10, 13)
    assert interval is not None
    assert (interval.end_ordinal, interval.end_counts) == (11, True)


def test_sizes_of_ledgers_are_told_where_they_are_known() -> None:
    ledgers = counted()
    taken(ledgers, [70] * 3)
    before = ledgers.changes
    ledgers.replay(70, offset=9, epoch=1, due=3, wall_ms=5)
    ledgers.put(Mark(Flags.BEGINS, 2, 10, 4, 4, 280, 6))
    ledgers.put(Mark(Flags.BEGINS, 3, 12, 6, 6, 500, 7))

    assert list(ledgers.spans()) == [
        Span(0, 0, 9, None, None, 0),
        Span(1, 9, 10, None, None, 5),
        Span(2, 10, 12, 2, 220, 6),
        Span(3, 12, None, None, None, 7),
    ]
    assert ledgers.changes > before
    ledgers.put(Mark(0, 3, 14, 8, 6, 640, 7))
    same = ledgers.changes
    ledgers.trim(11)
    assert ledgers.changes > same


def test_a_stream_whose_first_ledger_has_not_begun_has_no_sizes_to_tell() -> None:
    """Bug: the pass over all ledgers ended with an error at such a stream, again and again."""
    assert list(counted().spans()) == []


# --- in a log --------------------------------------------------------------------------------------------


def log_with(numbers: list[int], limits: Limits, disk: MemoryDisk) -> VnodeLog:
    """Return a log with so many frames, each of so many batches of one record."""
    log = open_log(disk, small_options(frame_bytes_max=4 << 10))
    log.count_entries(5, lambda: limits)
    for frame, count in enumerate(numbers):
        for number in range(count):
            log.append(5, batch(body=b"frame %d batch %d" % (frame, number)))
        commit(log)
    return log


def test_streams_that_are_not_counted_keep_nothing() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch())
    commit(log)

    assert log._state.streams[1].ledgers is None
    assert [kind for kind, *_ in map(tuple, (entry.data[:1] for entry in log.read_versions(0, 1 << 20)))] == [
        0
    ]


def test_rolls_are_leader_epochs_of_their_stream_alone() -> None:
    log = log_with([2, 3, 2], ENDLESS._replace(entries=3), MemoryDisk())
    log.append(6, batch())
    commit(log)

    assert log.leader_epochs(5) == [(0, 0), (1, 3), (2, 6)]
    assert (log.leader_epoch(5), log.leader_epoch(6), log.largest_leader_epoch()) == (2, 0, 0)


def test_an_epoch_begun_from_outside_is_a_ledger() -> None:
    log = log_with([3], ENDLESS, MemoryDisk())
    log.set_leader_epoch(5, 4)
    log.append(5, batch())
    commit(log)

    place = locate(log, 5, 3)
    assert place is not None
    assert (place.ledger_id, place.number) == (4, 0)


def test_a_roll_is_synced_even_where_others_are_not() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(durability="os"))
    log.count_entries(5, lambda: ENDLESS._replace(entries=2))
    for _ in range(4):
        log.append(5, batch())
        commit(log)

    again = open_log(disk.crash(DROP_ALL), small_options(durability="os"))

    assert again.high_watermark(5) == 3, "the first batch of ledger 1 was synced, the last one was not"
    assert again.leader_epoch(5) == 2, "what comes now is another history"
    again.append(5, batch())
    commit(again)
    place = find(again, 5, 2, 0)
    assert place is not None
    assert place.entry.base_offset == 3


def damaged(disk: MemoryDisk, text: bytes) -> MemoryDisk:
    """Return the disk after a crash, repaired after damage to the frame that has this text."""
    disk = disk.crash()
    (path,) = [name for name in disk.files() if name.endswith(".wal")]
    disk.damage(path, disk.contents(path).index(text), b"FRAME")
    report = repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=True)
    assert (report.mended, report.lost_frames) == (True, 1)
    return disk


def ids(log: VnodeLog, offsets: range) -> list[tuple[int, int] | None]:
    places = [locate(log, 5, offset) for offset in offsets]
    return [None if place is None else (place.ledger_id, place.number) for place in places]


def test_after_a_repair_ids_are_those_of_before_or_not_known() -> None:
    disk = MemoryDisk()
    log_with([3, 2, 3, 1], ENDLESS, disk)

    log = open_log(damaged(disk, b"frame 1"))

    assert ids(log, range(3)) == [(0, 0), (0, 1), (0, 2)]
    assert ids(log, range(5, 9)) == [None] * 4, "they were 5 to 8, which nothing tells any more"
    log.count_entries(5, lambda: ENDLESS)
    log.append(5, batch())
    commit(log)
    assert ids(log, range(9, 10)) == [(epoch_after_loss(0, 0), 0)]
    assert find(log, 5, 0, 6) is None


def test_after_a_repair_entries_before_a_mark_are_counted_back_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MARK_ENTRIES", 4)
    disk = MemoryDisk()
    log_with([3, 1, 2, 4, 2], ENDLESS, disk)

    log = open_log(damaged(disk, b"frame 2"))

    assert ids(log, range(4)) == [(0, number) for number in range(4)]
    assert ids(log, range(6, 12)) == [(0, number) for number in range(6, 12)]


def test_after_a_repair_a_ledger_without_its_beginning_is_counted_from_its_next_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MARK_ENTRIES", 3)
    disk = MemoryDisk()
    log_with([4, 2, 2, 4], ENDLESS._replace(entries=5), disk)
    log = open_log(damaged(disk, b"frame 1"))

    # Offset 4 was the last of ledger 0, and 5 the first of ledger 1.
    assert ids(log, range(4)) == [(0, number) for number in range(4)]
    assert ids(log, range(6, 10)) == [(1, number) for number in range(1, 5)]
    assert ids(log, range(10, 12)) == [(2, 0), (2, 1)]
    log.count_entries(5, lambda: ENDLESS)
    log.append(5, batch())
    commit(log)
    assert ids(log, range(12, 13)) == [(epoch_after_loss(2, 0), 0)], "a repair begins a ledger"


def test_a_tail_that_a_repair_fills_is_another_ledger() -> None:
    disk = MemoryDisk()
    log = log_with([3, 2], ENDLESS, disk)
    log.close(0)

    log = open_log(damaged(disk, b"frame 1"))

    assert ids(log, range(3)) == [(0, 0), (0, 1), (0, 2)]
    assert log.high_watermark(5) == 5
    filled = epoch_after_loss(0, 0), 0
    assert ids(log, range(3, 5)) == [filled, filled], "one empty batch for what was lost"


def test_a_stream_that_lost_its_first_mark_gives_out_no_id_again() -> None:
    disk = MemoryDisk()
    log_with([2, 3], ENDLESS, disk)

    log = open_log(damaged(disk, b"frame 0"))
    log.count_entries(5, lambda: ENDLESS)
    log.append(5, batch())
    commit(log)

    assert ids(log, range(2, 5)) == [None] * 3
    (found,) = ids(log, range(5, 6))
    assert found is not None
    assert found[0] > 0
