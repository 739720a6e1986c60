"""A data directory, a copy of it, and a directory with a store beside it give the same records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pipeline.bucket_config import BucketSection, place_of_copy
from pipeline.errors import SourceError
from pipeline.log_source.files import CopiedFiles, LocalFiles, LogFiles, LogPlace
from pipeline.log_source.logs import Logs
from pipeline.log_source.objects import StoreAddress, address_of
from pipeline.log_source.plan import EARLIEST, LATEST, Snapshot, Split, Wanted
from pipeline.log_source.rows import arrow_batches
from tests.broker.kit import batch, create, send
from tests.console.test_wal_orphans import DiskGateway
from tests.pipeline.log_source.copies import MemoryCopies, copy_of
from tests.wal.remote.folders import Folder
from wal.disk import OsDisk
from wal.objects import ObjectReads, swap
from wal.remote.formats import seal
from wal.remote.read_objects import read_cut
from wal.remote_record import RemoteRecord, write_record
from wal.segment import base_version_of
from wal.store import LOCK
from wal.store_marker import MARKER, raise_format, read_marker

Row = tuple[str, int, int, bytes]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the directory of a stopped gateway with some segments of a topic of two partitions."""
    gateway = DiskGateway(tmp_path / "data")
    create(gateway.client(), "t", 2)
    for number in range(120):
        for partition in (0, 1):
            values = [b"%d-%d " % (partition, 5 * number + at) + b"x" * 400 for at in range(5)]
            send(gateway.client(), "t", batch(*values), partition)
    gateway.stop()
    return tmp_path / "data"


def planned(files: LogFiles, wanted: Wanted | None = None) -> list[Split]:
    found = Snapshot(Logs(files, ["t"]))
    begins, ends = found.resolve(None, EARLIEST, ""), found.resolve(None, LATEST, "")
    return found.splits(begins, ends, wanted or Wanted())


def rows(splits: list[Split], store: ObjectReads | None = None) -> Iterator[Row]:
    for split in splits:
        for found in arrow_batches(OsDisk(), split, store, with_headers=False):
            for row in found.to_pylist():
                yield row["topic"], row["partition"], row["offset"], row["value"]


def address(monkeypatch: pytest.MonkeyPatch) -> StoreAddress:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    place = place_of_copy("s3://lake/kawal")
    assert place is not None
    return address_of(place, BucketSection(), keys="option ")


def test_a_copy_has_the_records_of_the_directory_and_a_task_for_each_segment(data: Path) -> None:
    objects = copy_of(data)
    root = CopiedFiles(objects).name
    local, copied = planned(LocalFiles(OsDisk(), str(data))), planned(CopiedFiles(objects))
    assert sorted(rows(copied, objects)) == sorted(rows(local))
    assert len(copied) == len(local) > 2
    assert [split.path.removeprefix(root) for split in copied] == [
        split.path.removeprefix(str(data)) for split in local
    ]


def test_the_copies_of_several_nodes_have_all_records_together(data: Path) -> None:
    whole, objects = sorted(rows(planned(LocalFiles(OsDisk(), str(data))))), copy_of(data, nodes=2)
    splits = planned(CopiedFiles(objects))
    assert sorted(rows(splits, objects)) == whole
    assert {row[1] for row in whole} == {0, 1}
    folders = {part.key.partition("/")[0] for split in splits for part in split.parts}
    assert len(folders) == 2
    assert "node-1" in folders


def test_the_copies_of_all_workers_have_all_records_together(data: Path) -> None:
    whole = sorted(rows(planned(LocalFiles(OsDisk(), str(data)))))
    objects = copy_of(data, nodes=2, are_workers=True)
    splits = planned(CopiedFiles(objects))
    assert sorted(rows(splits, objects)) == whole
    assert "node-1" in {part.key.partition("/")[0] for split in splits for part in split.parts}


def test_a_log_that_is_younger_than_the_copy_of_its_worker_has_nothing_there_yet(data: Path) -> None:
    objects = copy_of(data, nodes=2, are_workers=True)
    place = Folder(objects, "node-1")
    (cluster,) = objects.clusters()
    cut, etag = read_cut(place, cluster)
    assert cut is not None
    swap(place, f"{cluster}/cut", seal(msgspec.structs.replace(cut, logs={})), etag)
    whole = list(rows(planned(LocalFiles(OsDisk(), str(data)))))
    found = list(rows(planned(CopiedFiles(objects)), objects))
    assert 0 < len(found) < len(whole)
    bounds = [Logs(CopiedFiles(objects), ["t"]).bounds("t", partition) for partition in (0, 1)]
    assert sorted(bounds) == [(0, 0), (0, 600)]


def test_copies_that_do_not_belong_together_are_refused(data: Path) -> None:
    objects = copy_of(data, nodes=2, are_workers=True)
    others = copy_of(data, nodes=3, are_workers=True).objects
    objects.objects |= {key: found for key, found in others.items() if key.startswith("node-1")}
    with pytest.raises(SourceError, match=r"memory/node-1/.*: the copy of 1 of 3 nodes or workers, and mem"):
        planned(CopiedFiles(objects))


def test_a_node_whose_copy_is_missing_is_named(data: Path) -> None:
    objects = copy_of(data, nodes=2)
    objects.objects = {key: found for key, found in objects.objects.items() if not key.startswith("node-1")}
    with pytest.raises(SourceError, match=r"^memory/.*: memory/node-1: no copy of a cluster .* is there"):
        planned(CopiedFiles(objects))


def test_the_directory_of_one_of_several_nodes_does_not_stand_for_all(data: Path) -> None:
    marker = data / "kawal.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"node": 0, "nodes": 2}))
    with pytest.raises(
        SourceError, match=r"of node 0 of 2, and partition [01] of topic 't' is on node 1: read"
    ):
        planned(LocalFiles(OsDisk(), str(data)))


def test_a_plan_over_a_copy_looks_into_no_segment_that_was_closed(data: Path) -> None:
    objects = copy_of(data)
    objects.calls.clear()
    splits = planned(CopiedFiles(objects), Wanted(offset_min=590))
    read = {call.key for call in objects.calls if call.kind.startswith("read") and "/seg/" in call.key}
    assert [key for key in read if key.endswith(".wal") and "/meta/" not in key] == []
    objects.calls.clear()
    assert {row[2] for row in rows(splits, objects)} == set(range(590, 600))
    assert {call.key for call in objects.calls} == {part.key for split in splits for part in split.parts}


def test_what_has_left_the_disk_is_read_from_the_store_beside_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = copy_of(data)
    everything = sorted(rows(planned(LocalFiles(OsDisk(), str(data)))))
    left = let_go(data, objects)
    with pytest.raises(SourceError, match=r"has left the disk .* with the option 'store'"):
        planned(LocalFiles(OsDisk(), str(data)))
    splits = planned(LocalFiles(OsDisk(), str(data), address(monkeypatch)))
    assert {part.key for split in splits for part in split.parts} == left
    assert any(not split.parts for split in splits)
    assert sorted(rows(splits, objects)) == everything


def test_what_workers_have_let_go_is_read_from_the_folder_of_each(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = copy_of(data, nodes=2, are_workers=True)
    everything = sorted(rows(planned(LocalFiles(OsDisk(), str(data)))))
    left = let_go(data, objects)
    raise_format(OsDisk(), str(data), read_marker(OsDisk(), str(data / MARKER)), worker=1, workers=2)
    splits = planned(LocalFiles(OsDisk(), str(data), address(monkeypatch)))
    assert {part.key for split in splits for part in split.parts} == left
    assert {key.partition("/")[0] == "node-1" for key in left} == {True, False}
    assert sorted(rows(splits, objects)) == everything


def let_go(data: Path, objects: MemoryCopies) -> set[str]:
    """Have the oldest segments of each log leave the disk; return the keys of their objects."""
    disk, left = OsDisk(), set[str]()
    copied = CopiedFiles(objects)
    for split in planned(copied):
        path = data / "/".join(split.path.split("/")[-3:])
        segments = sorted(path.parent.glob("*.wal"))
        if path in segments[-2:]:
            continue
        (part,) = split.parts
        base = base_version_of(path.name)
        assert base is not None
        with path.open("rb") as file:
            salt = salt_of(file.read(4096))
        key = part.key.removeprefix("node-1/")  # a worker knows its own place alone
        write_record(disk, str(path.parent), RemoteRecord(base, salt, key, part.size_bytes, 0))
        path.unlink()
        left.add(part.key)
    return left


def salt_of(start: bytes) -> int:
    from wal.format import decode_segment_start

    header, _ = decode_segment_start(start)
    assert header is not None
    return header.salt


def test_of_several_clusters_one_is_to_be_chosen_and_without_one_the_prefix_is_named(data: Path) -> None:
    objects = copy_of(data)
    (cluster,) = objects.clusters()
    objects.create("~other/cut", b"")
    with pytest.raises(
        SourceError, match=f"copies of {cluster}, ~other: choose one with the option 'cluster'"
    ):
        CopiedFiles(objects)
    assert CopiedFiles(objects, cluster).name == f"memory/{cluster}"
    with pytest.raises(SourceError, match="no copy is there; give the prefix"):
        CopiedFiles(MemoryCopies())


def test_a_place_opens_what_it_names(data: Path) -> None:
    files = LogPlace(str(data), None).opened()
    assert isinstance(files, LocalFiles)
    assert files.name == str(data)


def test_a_directory_whose_server_runs_is_read_to_its_checkpoint(data: Path) -> None:
    whole = Logs(LocalFiles(OsDisk(), str(data)), ["t"]).bounds("t", 0)
    gateway = DiskGateway(data)
    send(gateway.client(), "t", batch(b"after the checkpoint"), 0)
    lock = OsDisk().lock(f"{data}/{LOCK}") if not (data / LOCK).exists() else None
    try:
        assert Logs(LocalFiles(OsDisk(), str(data)), ["t"]).bounds("t", 0) == whole
    finally:
        if lock is not None:
            lock.release()
        gateway.stop()
    assert Logs(LocalFiles(OsDisk(), str(data)), ["t"]).bounds("t", 0) == (0, whole[1] + 1)
