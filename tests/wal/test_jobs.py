"""The jobs of commits: their calls in order, their progress when one failed, the files that they leave."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from tests.wal.logs import DIRECTORY, batch, commit, content, open_log, read_all, small_options
from wal.disk_errors import DiskError, DiskFull, SyncFailed
from wal.jobs import CommitJob, CreatePlan, Phase, ReopenJob, SealPlan, SyncJob, make_spare
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault, failing
from wal.memory_image import DROP_ALL

OPTIONS = small_options(segment_bytes=4 << 10)


def calls_of(disk: MemoryDisk) -> list[tuple[str, str]]:
    """Return a list that fills with the calls from here on, by kind and file name."""
    calls: list[tuple[str, str]] = []

    def note(call: Call) -> Fault | None:
        calls.append((call.kind, call.path.rpartition("/")[2]))
        return None

    disk.faults.append(note)
    return calls


def commit_job(log: VnodeLog, size_bytes: int = 900) -> CommitJob:
    log.append(1, batch(body=bytes(size_bytes)))
    job = log.begin_sync(0)
    assert isinstance(job, CommitJob)
    return job


def log_that_rolls(disk: MemoryDisk) -> VnodeLog:
    """Return a reopened log whose next frame of 2,000 bytes rolls: first a footer, then a new segment."""
    log = open_log(disk, OPTIONS)
    log.append(1, batch(body=bytes(1_500)))
    commit(log)
    return open_log(disk, OPTIONS)


def test_a_job_of_no_kind_does_nothing_in_silence() -> None:
    with pytest.raises(NotImplementedError):
        SyncJob().run()


def test_a_full_disk_leaves_nothing_of_a_spare() -> None:
    disk = MemoryDisk(capacity_bytes=100)

    with pytest.raises(DiskFull):
        make_spare(disk, "spare.tmp", 101)

    assert (disk.files(), disk.used_bytes()) == ([], 0)


def test_a_spare_is_made_anew_whatever_had_its_name() -> None:
    disk = MemoryDisk()
    disk.open("spare.tmp", create=True).write_at(0, [b"old"])

    file = make_spare(disk, "spare.tmp", 10)

    assert file.read_at(0, 100) == bytes(10)


def test_a_frame_is_written_with_one_call_and_then_synced() -> None:
    disk = MemoryDisk()
    job = commit_job(log_that_rolls(disk), 100)
    calls = calls_of(disk)
    job.on_written = lambda: calls.append(("on_written", ""))

    job.run()

    name = "00000000000000000000.wal"
    assert calls == [("write", name), ("on_written", ""), ("sync", name)]
    assert job.phase is Phase.DONE


def test_a_roll_seals_before_it_makes_and_names_only_what_is_complete() -> None:
    disk = MemoryDisk()
    log = log_that_rolls(disk)
    job = commit_job(log, 2_000)
    calls = calls_of(disk)

    job.run()

    old, new = "00000000000000000000.wal", "00000000000000000001.wal"
    assert calls == [
        ("write", old), ("truncate", old), ("sync", old),
        ("open", "next.tmp"), ("allocate", "next.tmp"), ("write", "next.tmp"), ("sync", "next.tmp"),
        ("rename", "next.tmp"), ("sync_directory", DIRECTORY),
        ("write", "next.tmp"), ("sync", "next.tmp"),
    ]  # fmt: skip
    assert disk.exists(f"{DIRECTORY}/{new}")
    assert job.free_bytes == disk.free_bytes(DIRECTORY)


def test_a_frame_that_closes_its_segment_gives_back_the_room_behind_its_footer() -> None:
    disk = MemoryDisk()
    job = commit_job(log_that_rolls(disk), 1_000)
    calls = calls_of(disk)

    job.run()

    assert job.closes
    assert [kind for kind, _ in calls] == ["write", "truncate", "sync"]
    assert len(disk.contents(job.segment.path)) == job.position + job.size_bytes < 4 << 10


@pytest.mark.parametrize(
    ("kind", "nth", "phase", "done"),
    [
        ("write", 1, Phase.SYNC, ()),  # the footer
        ("truncate", 1, Phase.SYNC, ()),
        ("sync", 1, Phase.SYNC, ()),
        ("open", 1, Phase.PREPARE, ("seal",)),
        ("allocate", 1, Phase.PREPARE, ("seal",)),
        ("write", 2, Phase.SYNC, ("seal",)),  # the header
        ("sync", 2, Phase.SYNC, ("seal",)),
        ("rename", 1, Phase.SYNC, ("seal",)),
        ("sync_directory", 1, Phase.SYNC, ("seal",)),
        ("write", 3, Phase.WRITE, ("seal", "create")),  # the frame
        ("sync", 3, Phase.SYNC, ("seal", "create")),
    ],
)
def test_a_failed_roll_tells_how_far_it_came(
    kind: str, nth: int, phase: Phase, done: tuple[str, ...]
) -> None:
    disk = MemoryDisk()
    job = commit_job(log_that_rolls(disk), 2_000)
    disk.faults.append(failing(kind, errno.EIO, nth=nth))

    with pytest.raises(DiskError):
        job.run()

    plans = {"seal": job.seal, "create": job.create}
    assert job.phase is phase
    assert tuple(name for name, plan in plans.items() if plan is not None and plan.done) == done


def test_nothing_is_told_written_when_it_was_not() -> None:
    disk = MemoryDisk()
    job = commit_job(log_that_rolls(disk), 100)
    told: list[str] = []
    job.on_written = lambda: told.append("written")
    disk.faults.append(failing("write", errno.EIO, stored_bytes=100))

    with pytest.raises(DiskError):
        job.run()

    assert told == []


def test_a_seal_is_done_only_when_it_is_synced() -> None:
    disk = MemoryDisk()
    job = commit_job(log_that_rolls(disk), 2_000)
    plan = job.seal
    assert isinstance(plan, SealPlan)
    disk.faults.append(failing("sync", errno.EIO))

    done = []
    with pytest.raises(SyncFailed):
        plan.run()
    done.append(plan.done)
    plan.run()
    done.append(plan.done)

    assert done == [False, True]
    assert disk.contents(plan.segment.path).endswith(plan.footer)


def test_a_spare_saves_making_a_file() -> None:
    disk = MemoryDisk()
    spare = make_spare(disk, "spare.tmp", 4_096)
    plan = CreatePlan(disk=disk, directory="", temporary_path="spare.tmp", path="7.wal", capacity=4_096,
                      header=b"header", spare=spare)  # fmt: skip
    calls = calls_of(disk)

    file = plan.allocate()
    plan.name(file)

    assert file is spare
    assert calls == [
        ("write", "spare.tmp"),
        ("sync", "spare.tmp"),
        ("rename", "spare.tmp"),
        ("sync_directory", ""),
    ]
    assert disk.crash(DROP_ALL).contents("7.wal") == b"header" + bytes(4_090)


def failed_log(disk: MemoryDisk, *bodies: bytes) -> VnodeLog:
    """Return a log that acknowledged `bodies` and then failed to sync one more frame."""
    log = open_log(disk)
    for body in bodies:
        log.append(1, batch(body=body))
        commit(log)
    log = open_log(disk, log._state.options)
    log.append(1, batch(body=b"never acknowledged"))
    job = log.begin_sync(0)
    assert job is not None
    job.run()
    log.failed(job, SyncFailed("sync", DIRECTORY, errno.EIO), 0)
    return log


def reopen_job(log: VnodeLog) -> ReopenJob:
    job = log.begin_sync(5_000)
    assert isinstance(job, ReopenJob)
    return job


def test_a_reopen_copies_what_was_acknowledged_and_nothing_else() -> None:
    disk = MemoryDisk()
    log = failed_log(disk, b"first", b"second")
    job = reopen_job(log)

    job.run()

    assert (job.problem, job.phase) == ("", Phase.DONE)
    data = disk.crash(DROP_ALL).contents(f"{DIRECTORY}/{0:020d}.wal")
    assert b"first" in data
    assert b"second" in data
    assert b"never" not in data
    log.synced(job, 5_000)
    assert read_all(log, 1).endswith(b"second")


def test_a_reopen_looks_at_the_disk_and_not_into_the_cache() -> None:
    disk = MemoryDisk()
    job = reopen_job(failed_log(disk, b"first"))
    calls = calls_of(disk)

    job.run()

    name = f"{0:020d}.wal"
    assert calls.index(("drop_cache", name)) < calls.index(("read", name))
    assert calls[-3:] == [("sync", "next.tmp"), ("rename", "next.tmp"), ("sync_directory", DIRECTORY)]


def test_what_was_acknowledged_from_the_cache_is_copied_from_there() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(durability="os", flush_ms=0))
    log.append(1, batch(body=b"acknowledged when written"))
    commit(log)
    flush = log.begin_maintenance(0)
    assert flush is not None
    disk.faults.append(failing("sync", errno.EIO))
    with pytest.raises(SyncFailed) as raised:
        flush.run()
    log.maintenance_failed(flush, raised.value, 0)
    calls = calls_of(disk)

    commit(log, 5_000)

    assert "drop_cache" not in [kind for kind, _ in calls]
    assert content(log.read(1, 0, 1_000)).endswith(b"when written")


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda file: file.truncate(1_100), "the file ends before"),
        (lambda file: file.write_at(1_024, [bytes(64)]), "nothing was written there"),
    ],
)
def test_acknowledged_bytes_that_are_gone_are_a_problem_with_its_place(
    edit: Callable[[object], None], problem: str
) -> None:
    disk = MemoryDisk()
    job = reopen_job(failed_log(disk, b"first"))
    file = disk.open(f"{DIRECTORY}/{0:020d}.wal")
    edit(file)
    file.sync()

    job.run()

    assert problem in job.problem
    assert (job.damage_position, job.fresh) == (1_024, None)


def test_a_segment_that_the_failed_job_left_is_removed() -> None:
    disk = MemoryDisk()
    log = log_that_rolls(disk)
    job = commit_job(log, 2_000)
    disk.faults.append(failing("sync_directory", errno.EIO))
    with pytest.raises(SyncFailed) as raised:
        job.run()
    assert disk.exists(f"{DIRECTORY}/{1:020d}.wal")
    log.failed(job, raised.value, 0)

    reopen_job(log).run()

    assert not disk.exists(f"{DIRECTORY}/{1:020d}.wal")


def test_a_log_without_an_open_segment_has_nothing_to_copy() -> None:
    disk = MemoryDisk()
    job = ReopenJob(disk=disk, directory="", segment=None, file=None, temporary_path="next.tmp", keep={5},
                    trust_cache=False)  # fmt: skip
    for name in (f"{5:020d}.wal", f"{6:020d}.wal", "checkpoint.0"):
        disk.open(name, create=True).close()

    job.run()

    assert disk.list("") == [f"{5:020d}.wal", "checkpoint.0"]
    assert job.fresh is None
    assert job.free_bytes == disk.free_bytes("")
