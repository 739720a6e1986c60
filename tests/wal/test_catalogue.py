"""The catalogue: records in order, snapshots in their place, and a refusal when either is lost."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import DIRECTORY, commit, maintain, small_options
from wal.catalogue import (
    CATALOGUE_STREAM,
    Catalogue,
    Snapshot,
    SnapshotJob,
    decode_snapshot,
    encode_snapshot,
    load_snapshots,
)
from wal.disk_errors import SyncFailed
from wal.errors import MetadataLost
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing

OPTIONS = small_options(segment_bytes=4 << 10)
SNAPSHOT = Snapshot(4, 2**63, [b"first", b"", b"x" * 3_000])


def open_catalogue(disk: MemoryDisk) -> Catalogue:
    disk.make_directory(DIRECTORY)
    return Catalogue.open(disk, DIRECTORY, options=OPTIONS, now_ms=0)


def filled(disk: MemoryDisk, *records: bytes) -> Catalogue:
    catalogue = open_catalogue(disk)
    for record in records:
        catalogue.append(record)
        commit(catalogue.log)
    return catalogue


def snapshot(catalogue: Catalogue, *records: bytes) -> None:
    job = catalogue.begin_snapshot(list(records))
    job.run()
    catalogue.snapshot_done(job)


def without_segments_below(disk: MemoryDisk, catalogue: Catalogue, version: int) -> None:
    """Retire the segments below a version, whether a snapshot covers them or not."""
    for _ in range(2):
        catalogue.log._maintenance.checkpoint_wanted = True
        maintain(catalogue.log)
    assert catalogue.log.retire_below(version) > 0
    commit(catalogue.log)
    maintain(catalogue.log)


def test_a_damaged_log_is_refused() -> None:
    disk = MemoryDisk()
    filled(disk, b"first", b"second", b"third")
    (name,) = (name for name in disk.list(DIRECTORY) if name.endswith(".wal"))
    path = f"{DIRECTORY}/{name}"
    disk.damage(path, disk.contents(path).index(b"second"), b"?")

    with pytest.raises(MetadataLost, match=r"the catalogue is damaged: .*wrong crc"):
        open_catalogue(disk)


def test_records_that_nothing_holds_any_more_are_refused() -> None:
    disk = MemoryDisk()
    catalogue = filled(disk, *(bytes(900) for _ in range(9)))
    without_segments_below(disk, catalogue, 6)

    with pytest.raises(MetadataLost, match=r"records below version 6 are needed.*\(not valid: none\)"):
        open_catalogue(disk)


def test_a_lost_snapshot_is_refused_and_named() -> None:
    disk = MemoryDisk()
    catalogue = filled(disk, b"first")
    snapshot(catalogue, b"all of it")
    disk.damage(f"{DIRECTORY}/snapshot.0", 30, b"?")

    with pytest.raises(MetadataLost, match=r"\(not valid: snapshot.0\); restore the directory"):
        open_catalogue(disk)


def test_records_come_back_in_order_behind_the_snapshot() -> None:
    disk = MemoryDisk()
    catalogue = filled(disk, b"first", b"second")
    snapshot(catalogue, b"first and second")
    catalogue.append(b"third")
    commit(catalogue.log)

    again = open_catalogue(disk)

    assert again.records == [b"first and second", b"third"]
    assert (again.bytes_since_snapshot, catalogue.bytes_since_snapshot) == (5, 5)


def test_entries_of_other_streams_are_none_of_the_catalogues_records() -> None:
    disk = MemoryDisk()
    catalogue = filled(disk, b"mine")
    catalogue.log.append_meta(CATALOGUE_STREAM + 1, b"not mine")
    commit(catalogue.log)

    assert open_catalogue(disk).records == [b"mine"]


def test_a_record_that_was_not_synced_is_in_no_snapshots_range() -> None:
    catalogue = filled(MemoryDisk(), b"first")
    catalogue.append(b"not synced")

    assert catalogue.begin_snapshot([b"first"]).snapshot.version == 1


def test_segments_go_only_behind_the_older_of_two_snapshots() -> None:
    disk = MemoryDisk()
    catalogue = filled(disk, *(bytes(900) for _ in range(9)))
    for _ in range(2):
        catalogue.log._maintenance.checkpoint_wanted = True
        maintain(catalogue.log)

    snapshot(catalogue, b"all of it")
    announced = [bool(catalogue.log._state.retiring_bases)]
    snapshot(catalogue, b"all of it again")
    announced.append(bool(catalogue.log._state.retiring_bases))
    commit(catalogue.log)
    maintain(catalogue.log)

    assert announced == [False, True]
    assert catalogue.log.first_version > 0
    assert open_catalogue(disk).records == [b"all of it again"]


def test_a_snapshot_that_could_not_be_synced_leaves_the_one_before() -> None:
    disk = MemoryDisk()
    catalogue = filled(disk, b"first")
    snapshot(catalogue, b"one")
    snapshot(catalogue, b"two")
    disk.faults.append(failing("sync", errno.EIO, path="snapshot"))

    with pytest.raises(SyncFailed):
        catalogue.begin_snapshot([b"three"]).run()

    assert open_catalogue(disk).records == [b"two"]


def test_two_generations_are_kept_in_turn() -> None:
    disk = MemoryDisk()
    for generation in range(5):
        SnapshotJob(disk, "", Snapshot(generation, generation, []), []).run()

    assert [kept.generation for kept in load_snapshots(disk, "")[0]] == [4, 3]
    assert disk.list("") == ["snapshot.0", "snapshot.1"]


def test_a_snapshot_comes_back_as_it_was() -> None:
    assert decode_snapshot(encode_snapshot(SNAPSHOT)) == SNAPSHOT
    assert decode_snapshot(encode_snapshot(Snapshot(0, 0, []))) == Snapshot(0, 0, [])


def test_no_damaged_snapshot_is_taken() -> None:
    data = encode_snapshot(SNAPSHOT._replace(records=[b"first", b""]))

    for size in range(len(data)):
        assert decode_snapshot(data[:size]) is None
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert decode_snapshot(bytes(damaged)) is None


def test_a_snapshot_of_another_kind_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SNAPSHOT_FORMAT", 2), ("SNAPSHOT_MAGIC", b"KAWALDOG")):
        with monkeypatch.context() as other:
            other.setattr(f"wal.catalogue.{name}", value)
            data = encode_snapshot(SNAPSHOT)
        assert decode_snapshot(data) is None
