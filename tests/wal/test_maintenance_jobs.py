"""The jobs of maintenance by themselves: their effects on the disk, in order, also after a failure."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import DIRECTORY, batch, commit, open_log, small_options
from wal.checkpoint import (
    COMPACTION_COLUMNS,
    EPOCH_COLUMNS,
    SEGMENT_COLUMNS,
    STREAM_COLUMNS,
    Checkpoint,
    Witness,
    empty_table,
    load_checkpoints,
    load_witness,
    log_number,
)
from wal.disk_errors import DiskError, DiskFull, SyncFailed
from wal.index_file import decode_index
from wal.maintenance_jobs import (
    CheckpointJob,
    FlushJob,
    IndexJob,
    Job,
    RenameJob,
    ScrubJob,
    SpareJob,
    UnlinkJob,
    WitnessJob,
)
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL
from wal.named_producers import NamedSnapshot
from wal.producer_snapshot import ProducerSnapshot
from wal.segment import Segment, SharedFile

WITNESS = Witness(3, 40, 900, 800)


def segments_of(disk: MemoryDisk) -> list[Segment]:
    """Return the sealed segments of a log of four, with their indexes in memory."""
    log = open_log(disk, small_options(segment_bytes=4 << 10))
    for _ in range(7):
        log.append(1, batch(body=bytes(900)))
        commit(log)
    *sealed, _ = log._state.segments.all
    return sealed


def checkpoint(generation: int = 0) -> Checkpoint:
    return Checkpoint(
        log_number=log_number(""), generation=generation, sequence=12, durable_sequence=12, version=9,
        last_crc=1, clean=False, segments=empty_table(SEGMENT_COLUMNS), streams=empty_table(STREAM_COLUMNS),
        epochs=empty_table(EPOCH_COLUMNS), compactions=empty_table(COMPACTION_COLUMNS),
        counted=[],
        producers=ProducerSnapshot([]),
        named=NamedSnapshot({}),
    )  # fmt: skip


def file_with(disk: MemoryDisk, path: str, data: bytes = b"") -> SharedFile:
    file = disk.open(path, create=True)
    file.write_at(0, [data])
    return SharedFile(file)


def kinds_of(disk: MemoryDisk) -> list[str]:
    """Return a list that fills with the kinds of the calls from here on."""
    kinds: list[str] = []
    disk.faults.append(lambda call: kinds.append(call.kind))
    return kinds


def test_a_job_of_no_kind_does_nothing_in_silence() -> None:
    with pytest.raises(NotImplementedError):
        Job().run()


def test_an_index_is_written_whole_over_whatever_was_there() -> None:
    disk = MemoryDisk()
    segment = segments_of(disk)[0]
    file_with(disk, segment.index_path, b"?" * 10_000)

    IndexJob(disk, segment, segment.active_index, 7).run()

    index = decode_index(disk.contents(segment.index_path), base_version=0, seed=segment.seed)
    assert index is not None
    assert (index.range_of(1), index.end_position) == ((0, 2), segment.end_position)


def test_an_index_that_found_no_room_is_not_taken_for_one() -> None:
    disk = MemoryDisk()
    segment = segments_of(disk)[0]
    disk.faults.append(failing("write", errno.ENOSPC, path=".idx", stored_bytes=100))

    with pytest.raises(DiskFull):
        IndexJob(disk, segment, segment.active_index, 7).run()

    assert decode_index(disk.contents(segment.index_path), base_version=0, seed=segment.seed) is None


def test_a_checkpoint_promises_nothing_that_could_not_be_synced() -> None:
    disk = MemoryDisk()
    log_file = file_with(disk, "0.wal")
    disk.faults.append(failing("sync", errno.EIO, path="0.wal"))

    with pytest.raises(SyncFailed):
        CheckpointJob(disk, "", checkpoint(), log_file, 12).run()

    assert load_checkpoints(disk, "") == ([], [])


@pytest.mark.parametrize("needs_sync", [False, True])
def test_a_checkpoint_survives_a_power_cut(*, needs_sync: bool) -> None:
    disk = MemoryDisk()
    log_file = file_with(disk, "0.wal") if needs_sync else None

    CheckpointJob(disk, "", checkpoint(1), log_file, 12).run()

    after = disk.crash(DROP_ALL)
    assert [kept.generation for kept in load_checkpoints(after, "")[0]] == [1]
    assert after.exists("0.wal") == needs_sync


def test_without_news_the_free_space_is_measured_and_nothing_written() -> None:
    disk = MemoryDisk(capacity_bytes=50_000)
    file_with(disk, "data", bytes(20_000))
    job = WitnessJob(disk, "", None)

    job.run()

    assert job.free_bytes == 30_000
    assert load_witness(disk, "") is None


def test_a_witness_survives_a_power_cut() -> None:
    disk = MemoryDisk()

    WitnessJob(disk, "", WITNESS).run()

    assert load_witness(disk.crash(DROP_ALL), "") == WITNESS


def test_a_spare_has_its_room_and_is_synced() -> None:
    disk = MemoryDisk()
    job = SpareJob(disk, "spare.tmp", 5_000)
    kinds = kinds_of(disk)

    job.run()

    assert job.file is not None
    assert job.file.size() == 5_000
    assert kinds == ["open", "allocate", "sync"]


def test_a_spare_that_found_no_room_leaves_nothing() -> None:
    disk = MemoryDisk(capacity_bytes=4_999)
    job = SpareJob(disk, "spare.tmp", 5_000)

    with pytest.raises(DiskFull):
        job.run()

    assert (job.file, disk.files()) == (None, [])


def test_what_retires_segments_is_synced_before_they_are_renamed() -> None:
    disk = MemoryDisk()
    segments = segments_of(disk)[:2]
    file = file_with(disk, "newest")
    file_with(disk, segments[1].index_path)
    kinds = kinds_of(disk)

    RenameJob(disk, DIRECTORY, segments, file, 9).run()

    assert kinds == ["sync", "rename", "rename", "rename", "sync_directory"]
    assert [name for name in disk.list(DIRECTORY) if name.endswith(".deleted")] == [
        f"{0:020d}.wal.deleted", f"{2:020d}.idx.deleted", f"{2:020d}.wal.deleted",
    ]  # fmt: skip


def test_no_segment_goes_when_what_retires_it_could_not_be_synced() -> None:
    disk = MemoryDisk()
    segments = segments_of(disk)
    before = disk.list(DIRECTORY)
    disk.faults.append(failing("sync", errno.EIO, path="newest"))

    with pytest.raises(SyncFailed):
        RenameJob(disk, DIRECTORY, segments, file_with(disk, "newest"), 9).run()

    assert disk.list(DIRECTORY) == before


def test_a_rename_that_failed_half_way_can_be_done_again() -> None:
    disk = MemoryDisk()
    job = RenameJob(disk, DIRECTORY, segments_of(disk), None, 9)
    disk.faults.append(failing("rename", errno.EIO, nth=2))

    with pytest.raises(DiskError):
        job.run()
    job.run()

    assert [name for name in disk.list(DIRECTORY) if name.endswith(".wal")] == [f"{6:020d}.wal"]


def test_files_are_removed_though_some_are_gone_already() -> None:
    disk = MemoryDisk()
    file_with(disk, "b.deleted")
    file_with(disk, "c")

    UnlinkJob(disk, ["a.deleted", "b.deleted"]).run()

    assert disk.list("") == ["c"]


def test_a_removal_that_failed_half_way_can_be_done_again() -> None:
    disk = MemoryDisk()
    for name in ("a", "b", "c"):
        file_with(disk, name)
    job = UnlinkJob(disk, ["a", "b", "c"])
    disk.faults.append(failing("remove", errno.EIO, nth=2))

    with pytest.raises(DiskError):
        job.run()
    job.run()

    assert disk.list("") == []


def test_a_scrub_of_a_good_segment_finds_nothing() -> None:
    disk = MemoryDisk()
    job = ScrubJob(disk, DIRECTORY, segments_of(disk)[0], in_turn=True)

    job.run()

    assert job.damage is None


@pytest.mark.parametrize(
    ("position", "start", "end", "problem"),
    [
        (1_500, 1_024, 2_097, "frame 0: entry 0 (stream 1, offset 0) has a wrong crc or size"),
        (2_100, 2_097, 3_170, "the frame header there has a wrong magic or crc"),
    ],
)
def test_a_scrub_names_the_bytes_that_are_bad(
    position: int, start: int, end: int, problem: str | None
) -> None:
    disk = MemoryDisk()
    segment = segments_of(disk)[0]
    disk.damage(segment.path, position, b"?")
    job = ScrubJob(disk, DIRECTORY, segment, in_turn=True)

    job.run()

    assert job.damage is not None
    assert (job.damage.file, job.damage.start, job.damage.end) == (segment.path, start, end)
    assert job.damage.problem == problem


def test_one_good_copy_of_the_header_is_enough_for_a_scrub() -> None:
    disk = MemoryDisk()
    segment = segments_of(disk)[0]
    disk.damage(segment.path, 0, b"?")
    job = ScrubJob(disk, DIRECTORY, segment, in_turn=True)

    job.run()

    assert job.damage is None


def test_a_scrub_of_a_file_that_is_not_the_segment_names_all_of_it() -> None:
    disk = MemoryDisk()
    segment = segments_of(disk)[0]
    disk.damage(segment.path, 0, bytes(1_024))
    job = ScrubJob(disk, DIRECTORY, segment, in_turn=True)

    job.run()

    assert job.damage is not None
    assert (job.damage.start, job.damage.end) == (0, segment.end_position)
    assert "not that of this segment" in job.damage.problem


def test_a_flush_makes_durable_what_was_written() -> None:
    disk = MemoryDisk()
    file = file_with(disk, "0.wal", b"written")
    disk.sync_directory("")

    FlushJob(file, 9).run()

    assert disk.crash(DROP_ALL).contents("0.wal") == b"written"


def test_a_failed_flush_is_told() -> None:
    disk = MemoryDisk()
    disk.faults.append(failing("sync", errno.EIO))

    with pytest.raises(SyncFailed, match="bytes written to it before may be lost"):
        FlushJob(file_with(disk, "0.wal"), 9).run()
