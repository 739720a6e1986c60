"""The state of a log's storage in memory is that of its files."""

from __future__ import annotations

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, retire, small_options
from wal.memory_disk import MemoryDisk
from wal.storage_report import Role, storage_report
from wal.storage_state import storage_state, storage_version


def test_it_tells_what_the_files_tell() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(checkpoint_ns=350_000))
    for _ in range(60):
        log.append(1, batch(body=bytes(1_000)))
        commit(log)
        maintain(log)

    found, report = storage_state(log), storage_report(disk, DIRECTORY)

    assert found["journal"]["next_sequence"] == report.end_sequence
    assert found["journal"]["frames_after_mark"] == report.frames_after_mark
    assert found["mark"] == {
        "generation": report.mark_generation,
        "sequence": report.mark_sequence,
        "older_sequence": report.older_mark_sequence,
    }
    assert report.mark_generation > 1
    segments = found["segments"]
    assert segments["kept_for"] == {role.value: len(report.of_role(role)) for role in Role}
    assert segments["size_bytes"] == sum(segment.end_position for segment in report.segments)
    assert segments["marks_let_go"] == [
        segment.path.removeprefix(f"{DIRECTORY}/") for segment in report.of_role(Role.DATA)
    ]
    assert len(segments["marks_let_go"]) > 1
    assert found["memory"]["streams"] == 1
    assert found["memory"]["tail_cache_bytes"] == log.tail_cache_bytes > 0


def test_it_has_another_version_after_a_checkpoint_and_with_other_files_only() -> None:
    log = open_log(MemoryDisk(), small_options(checkpoint_ns=350_000, delete_delay_ms=0))
    versions = [storage_version(log)]
    for _ in range(60):
        before = storage_version(log)
        log.append(1, batch(body=bytes(1_000)))
        open_bytes = storage_state(log)["memory"]["open_frame_bytes"]
        assert open_bytes > 1_000
        assert storage_version(log) == before
        commit(log)
        maintain(log)
        versions.append(storage_version(log))
    assert 3 < len(set(versions)) < 60
    log.set_log_start(1, 60)
    commit(log)

    assert retire(log, 10) > 0
    assert storage_version(log) != versions[-1]
