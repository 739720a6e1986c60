"""A repair gives up the frames that cannot be read and nothing else."""

from __future__ import annotations

import random

import pytest

from tests.wal.damaged import (
    CHECKPOINTED,
    OPTIONS,
    change,
    damage,
    finished_log,
    mend,
    swap_segments,
    wal_files,
)
from tests.wal.logs import DIRECTORY, batch, commit, content, open_log, read_all, small_options
from wal.format import FRAME_MAGIC
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.options import LogOptions
from wal.repair import RepairReport, repair
from wal.stream import epoch_after_loss


def numbered_log() -> MemoryDisk:
    """Return a log of ten frames of one batch each, in one segment."""
    disk = MemoryDisk()
    log = open_log(disk, small_options())
    for number in range(10):
        log.append(1, batch(body=b"number %d" % number))
        commit(log)
    disk.restart()
    return disk


def spoil(disk: MemoryDisk, what: bytes) -> None:
    path = wal_files(disk)[0]
    disk.damage(path, disk.contents(path).index(what), b"?")


def numbers(log: VnodeLog, stream_id: int = 1) -> list[int]:
    stored = read_all(log, stream_id)
    return [number for number in range(20) if b"number %d" % number in stored]


def test_only_the_damaged_frame_is_given_up() -> None:
    disk = numbered_log()
    spoil(disk, b"number 4")

    report = repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=True)

    log = open_log(disk, small_options())
    assert (report.mended, report.lost_frames, len(report.damages)) == (True, 1, 1)
    assert numbers(log) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert content(log.read(1, 4, 1)).endswith(b"number 5")
    assert log.append(1, batch()).base_offset == 10


def test_several_damages_are_mended_in_one_run() -> None:
    disk = numbered_log()
    for number in (0, 3, 4, 7):
        spoil(disk, b"number %d" % number)

    report = repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=True)

    assert report.lost_frames == 4
    assert numbers(open_log(disk, small_options())) == [1, 2, 5, 6, 8, 9]


def test_without_consent_nothing_is_changed() -> None:
    disk = numbered_log()
    spoil(disk, b"number 4")
    before = {path: disk.contents(path) for path in wal_files(disk)}

    report = repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=False)

    assert not report.mended
    assert "wrong crc" in report.damages[0]
    assert {path: disk.contents(path) for path in wal_files(disk)} == before


def test_a_healthy_log_is_left_alone() -> None:
    disk = numbered_log()

    report = repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=True)

    assert report == RepairReport(mended=True)
    assert open_log(disk, small_options()).leader_epoch(1) == 0


def test_damaged_bytes_are_kept_aside_and_consumers_are_warned_by_a_new_epoch() -> None:
    disk = numbered_log()
    spoil(disk, b"number 4")

    report = repair(disk, DIRECTORY, options=small_options(), now_ms=0, accept_loss=True)

    assert b"?umber 4" in disk.contents(report.kept[0])
    log = open_log(disk, small_options())
    assert log.leader_epochs(1) == [(0, 0), (epoch_after_loss(0, 0), 10)]


@pytest.mark.parametrize("options", [OPTIONS, CHECKPOINTED])
def test_a_log_without_one_segment_goes_on_without_it(options: LogOptions) -> None:
    disk, sent = finished_log(options)
    for path in wal_files(disk):
        after = disk.crash(KEEP_ALL)
        after.remove(path)

        report = mend(after, options)

        assert report.mended, (path, report.damages)
        goes_on(after, sent, options)


def goes_on(disk: MemoryDisk, sent: dict[int, bytes], options: LogOptions) -> None:
    """Check that the log reads batches that were sent, in order, and takes new ones."""
    log = open_log(disk, options, now_ms=20_000)
    assert log.state == "OPEN", log.damage
    for stream_id, data in sent.items():
        if log.high_watermark(stream_id) > log.log_start(stream_id):
            assert is_subsequence(read_all(log, stream_id), data)
    new = batch(body=b"after the repair")
    log.append(0, new)
    commit(log, 20_000)
    again = open_log(disk.crash(), options, now_ms=30_000)
    assert again.state == "OPEN", again.damage
    assert read_all(again, 0).endswith(bytes(new))


def is_subsequence(stored: bytes, sent: bytes) -> bool:
    place = 0
    for piece in split(stored):
        if piece.endswith(bytes(4)):  # no records: it stands for lost offsets
            continue
        place = sent.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def split(data: bytes) -> list[bytes]:
    found = []
    while data:
        size = int.from_bytes(data[8:12], "big") + 12
        found.append(data[:size])
        data = data[size:]
    return found


def test_a_clean_stop_after_the_end_of_a_segment_was_given_up_keeps_the_log_good() -> None:
    disk, sent = finished_log()
    path = wal_files(disk)[-2]
    footer = disk.contents(path).rindex(FRAME_MAGIC)
    disk.damage(path, footer, bytes(64))

    assert mend(disk).mended

    goes_on(disk, sent, OPTIONS)
    log = open_log(disk, OPTIONS)
    log.close(0)
    disk.restart()
    assert open_log(disk, OPTIONS).damage is None


def test_a_valid_frame_that_leaves_no_room_for_a_lost_one_is_given_up() -> None:
    disk = numbered_log()
    path = wal_files(disk)[0]
    data = disk.contents(path)
    frames = [data.index(b"number %d" % number) for number in range(10)]
    step = frames[6] - frames[5]
    start = data.index(FRAME_MAGIC, frames[4])  # frame 5
    assert data.index(FRAME_MAGIC, start + 1) - start == step
    moved = data[start + 2 * step : start + 3 * step]  # frame 7
    disk.damage(path, start, b"?" * 2 * step)
    disk.damage(path, start + 20, moved)

    report = mend(disk, small_options())

    log = open_log(disk, small_options())
    assert (report.mended, log.damage) == (True, None)
    assert numbers(log) == [0, 1, 2, 3, 4, 8, 9]


@pytest.mark.parametrize("step", [1, 1_000])
def test_a_copy_of_the_newest_segment_is_set_aside_and_takes_no_frame_with_it(step: int) -> None:
    disk = numbered_log()
    (path,) = wal_files(disk)
    twin = disk.open(f"{DIRECTORY}/{step:020d}.wal", create=True)
    twin.write_at(0, [disk.contents(path)])
    twin.close()

    report = mend(disk, small_options())

    assert (report.mended, report.lost_frames) == (True, 0)
    assert report.kept == [f"{DIRECTORY}/{step:020d}.wal.damaged"]
    assert numbers(open_log(disk, small_options())) == list(range(10))


def test_any_damage_can_be_mended() -> None:
    chance = random.Random(11)
    for options in (OPTIONS, CHECKPOINTED):
        disk, sent = finished_log(options)
        for _ in range(100):
            path = chance.choice(wal_files(disk))
            after = change(disk, path, damage(chance))

            report = mend(after, options)

            assert report.mended, report.damages
            goes_on(after, sent, options)


def test_swapped_and_copied_segments_are_set_aside() -> None:
    disk, sent = finished_log()
    swap_segments(disk)
    source = disk.contents(wal_files(disk)[3])
    disk.open(f"{DIRECTORY}/00000000000000000001.wal", create=True).write_at(0, [source])

    report = mend(disk)

    assert report.mended
    assert sum(name.endswith(".wal.damaged") for name in disk.list(DIRECTORY)) == 3
    goes_on(disk, sent, OPTIONS)
