"""The files of a compacted log are understood by checkpoint, verification, repair and upgrade."""

from __future__ import annotations

import pytest

from tests.wal.compactions import append_copies, compact, every_fifth, filled, seen
from tests.wal.logs import DIRECTORY, batch, commit, open_log, small_options
from wal.format import SegmentHeader, encode_segment_start
from wal.inspect import LogReport, verify_log
from wal.memory_disk import MemoryDisk
from wal.repair import repair
from wal.snapshot import Capture


def test_a_checkpoint_taken_while_a_pass_ends_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wal.snapshot.STREAMS_PER_STEP", 1)
    for steps_before in range(5):
        disk = MemoryDisk()
        log = filled(disk)
        compact(log, 7, 20, every_fifth)
        copies_id = append_copies(log, 7, 30, every_fifth)
        commit(log)
        capture = Capture(log._state, generation=0, clean=False)
        done = [capture.step() for _ in range(steps_before)]
        log.let_copies_count(7, clean_end=30, copies_id=copies_id)
        commit(log)
        expected, size_bytes = seen(log, 7), log.stream_size_bytes(7)
        while not any(done):
            done.append(capture.step())
        log._maintenance._checkpoint_job(capture).run()

        again = open_log(disk.crash())

        assert seen(again, 7) == expected, steps_before
        assert again.stream_size_bytes(7) == size_bytes, steps_before
        assert not again.recovery.notes


def test_verify_understands_a_compacted_log() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 30, every_fifth)
    log.close(0)
    report = list(verify_log(disk, DIRECTORY))[-1]
    assert isinstance(report, LogReport)
    assert report.is_good, report.damages


@pytest.mark.parametrize("victim", [b"seven-3", b"seven-10", b"seven-16"])
def test_a_repair_gives_up_what_is_damaged_and_keeps_the_rest(victim: bytes) -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 30, every_fifth)
    before = seen(log, 7)
    log.close(0)
    disk.restart()
    path = next(f"{DIRECTORY}/{name}" for name in disk.list(DIRECTORY) if name.endswith(".wal"))
    # The last place of each body is the copy, where there is one.
    disk.damage(path, disk.contents(path).rindex(victim), b"SEVEN")

    assert repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=True).mended

    mended = open_log(disk)
    assert mended.state == "OPEN"
    after = seen(mended, 7)
    lost = {base: data for base, data in before.items() if base not in after}
    assert {base: data for base, data in after.items() if base in before} == {
        base: data for base, data in before.items() if base not in lost
    }
    assert bool(lost) == (victim != b"seven-3"), "damage to dead bytes costs nothing"
    assert mended.high_watermark(7) >= 40


def test_a_segment_of_the_older_format_gets_no_copies() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    log.close(0)
    name = next(name for name in disk.list(DIRECTORY) if name.endswith(".wal"))
    segment = log._state.segments.all[0]
    header = SegmentHeader(0, segment.base_version, segment.base_sequence, segment.salt, 0, 0, format=1)
    disk.damage(f"{DIRECTORY}/{name}", 0, encode_segment_start(header))

    again = open_log(disk)
    assert again.begin_copies() is None
    before = seen(again, 7)
    again.append(8, batch(1))
    commit(again)

    assert len(again._state.segments.all) == 2, "the next frame begins a segment of this format"
    assert seen(again, 7) == before
    compact(again, 7, 30, every_fifth)
    assert list(seen(open_log(disk.crash()), 7)) == [0, 10, 20, 30, 32, 34, 36, 38]
