"""The metadata of an Iceberg table: our files, each batch once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog

from pipeline.errors import SetupError
from pipeline.ledger import File, Ledger
from pipeline.sinks.iceberg import IcebergLog, catalog_properties, iceberg_schema
from pipeline.table_note import TableNote
from tests.pipeline.made import entry

NOTE = TableNote(columns={"n": "int", "origin": "string"}, partition_by=["origin"], kind="iceberg")


def properties(folder: Path) -> dict[str, str]:
    return catalog_properties({}, folder / "own" / "catalog.db", folder / "t")


def open_table(folder: Path) -> Ledger:
    log = IcebergLog(folder / "t", job="land-t", note=NOTE, properties=properties(folder))
    return Ledger(folder / "t", job="land-t", batch_column="batch", log=log)


def staged(folder: Path, numbers: list[int], kind: pa.DataType) -> list[File]:
    path = "origin=JFK/part.parquet"
    target = folder / "staged" / path
    target.parent.mkdir(parents=True)
    origins = pa.array(["JFK"] * len(numbers))
    pq.write_table(pa.table({"n": pa.array(numbers, kind), "origin": origins}), target)
    return [File(path=path, rows=len(numbers), size_bytes=target.stat().st_size, crc32c=0)]


def publish(folder: Path, batch: int, numbers: list[int], kind: Any = None, **changed: Any) -> None:
    files = staged(folder, numbers, kind or pa.int32())
    landed = entry(batch, batch, batch + 1, **{"files": files, "table": NOTE, **changed})
    open_table(folder).publish(folder / "staged", landed)


def table(folder: Path) -> Any:
    return load_catalog("kawal", **properties(folder)).load_table("kawal.t")


def numbers_in(folder: Path) -> list[int]:
    return sorted(table(folder).scan().to_arrow()["n"].to_pylist())


def test_each_batch_is_one_commit_that_names_it(tmp_path: Path) -> None:
    publish(tmp_path, 0, [1, 2])
    publish(tmp_path, 1, [3])
    assert numbers_in(tmp_path) == [1, 2, 3]
    assert table(tmp_path).properties["kawal.land-t.batch"] == "1"
    assert table(tmp_path).current_snapshot().summary["kawal.land-t.batch"] == "1"
    assert table(tmp_path).location() == f"file://{tmp_path}/t"
    assert open_table(tmp_path).batches() == [0, 1]


def test_a_folder_without_a_commit_is_not_seen_and_is_made_again(tmp_path: Path) -> None:
    class Crash(BaseException):
        pass

    def die() -> None:
        raise Crash

    publish(tmp_path, 0, [1])
    files = staged(tmp_path, [7, 8, 9], pa.int32())
    ledger = open_table(tmp_path)
    ledger.on_placed = die
    with pytest.raises(Crash):
        ledger.publish(tmp_path / "staged", entry(1, 1, 2, files=files, table=NOTE))
    assert numbers_in(tmp_path) == [1]
    assert open_table(tmp_path).next_batch == 1
    publish(tmp_path, 1, [2])
    assert numbers_in(tmp_path) == [1, 2]


def test_a_batch_without_files_counts(tmp_path: Path) -> None:
    (tmp_path / "staged").mkdir()
    open_table(tmp_path).publish(tmp_path / "staged", entry(0, 0, 5, table=NOTE))
    assert open_table(tmp_path).positions == {"t": {"0": 5}}


def test_a_new_column_and_a_wider_one_change_the_table(tmp_path: Path) -> None:
    publish(tmp_path, 0, [1])
    columns = {"n": "bigint", "origin": "string", "extra": "double"}
    wider = TableNote(columns=columns, partition_by=["origin"], kind="iceberg")
    publish(tmp_path, 1, [5_000_000_000], pa.int64(), table=wider)
    assert numbers_in(tmp_path) == [1, 5_000_000_000]
    assert [field.name for field in table(tmp_path).schema().fields] == ["n", "origin", "extra"]


def test_the_schema_has_every_type_and_the_derived_partition_columns() -> None:
    columns = {
        "a": "decimal(6,2)",
        "b": "map<string,string>",
        "headers": "array<struct<key:string,value:binary>>",
        "t": "timestamp",
    }
    schema = iceberg_schema(TableNote(columns=columns, partition_by=["date"], kind="iceberg"))
    kinds = {field.name: str(field.field_type) for field in schema.fields}
    assert (kinds["a"], kinds["b"], kinds["t"], kinds["date"]) == (
        "decimal(6, 2)",
        "map<string, string>",
        "timestamptz",
        "date",
    )
    assert kinds["headers"].startswith("list<struct<")


def test_a_catalog_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    log = IcebergLog(tmp_path / "t", job="j", note=NOTE, properties={"type": "nothing"})
    with pytest.raises(SetupError, match="cannot be opened"):
        log.committed()


def test_what_a_commit_costs_does_not_grow_with_the_batches_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit after 500 batches took ten times as long as the first."""
    monkeypatch.setattr("pipeline.sinks.iceberg.KEPT_SNAPSHOTS", 3)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    costs = []
    for batch in range(12):
        before = len(synced)
        publish(tmp_path, batch, [batch])
        shutil.rmtree(tmp_path / "staged", ignore_errors=True)
        costs.append(len(synced) - before)
    assert max(costs[1:]) <= min(costs[1:]) + 4
    assert len(table(tmp_path).snapshots()) < 6
    assert numbers_in(tmp_path) == list(range(12))


def test_a_snapshot_with_a_tag_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.sinks.iceberg.KEPT_SNAPSHOTS", 1)
    publish(tmp_path, 0, [0])
    first = table(tmp_path).current_snapshot().snapshot_id
    table(tmp_path).manage_snapshots().create_tag(first, "audited").commit()
    for batch in (1, 2, 3):
        publish(tmp_path, batch, [batch])
    kept = [snapshot.snapshot_id for snapshot in table(tmp_path).snapshots()]
    assert first in kept
    assert len(kept) == 2


def test_metadata_is_synced_before_the_catalog_points_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut after the commit could leave a catalog whose table has no metadata."""
    publish(tmp_path, 0, [0])
    synced: set[str] = set()
    monkeypatch.setattr("pipeline.sinks.synced_io.sync_path", lambda path: synced.add(str(path)))
    before = set((tmp_path / "t" / "metadata").iterdir())
    pointed: list[set[str]] = []
    commit = SqlCatalog.commit_table

    def committed(catalog: Any, *given: Any) -> Any:
        made = commit(catalog, *given)
        pointed.append(set(synced))
        return made

    monkeypatch.setattr(SqlCatalog, "commit_table", committed)
    publish(tmp_path, 1, [1])
    new = {str(path) for path in set((tmp_path / "t" / "metadata").iterdir()) - before}
    assert len(new) >= 3
    assert new <= pointed[-1]


def test_a_look_at_a_table_that_is_not_there_makes_no_catalog(tmp_path: Path) -> None:
    """`pipe check` made the file of the catalog and its folder."""
    given = {"type": "sql", "uri": f"sqlite:///{tmp_path}/new/catalog.db"}
    log = IcebergLog(tmp_path / "t", job="land-t", note=NOTE, properties=given)
    assert log.committed() == -1
    assert list(tmp_path.iterdir()) == []


def test_what_a_database_adds_below_its_error_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_name: str, **_properties: str) -> None:
        raise OSError("cannot open\n[SQL: select 1]\n(Background on this error at: https://x)")

    monkeypatch.setattr("pyiceberg.catalog.load_catalog", fail)
    log = IcebergLog(
        tmp_path / "t", job="land-t", note=NOTE, properties={"type": "rest", "uri": "http://a:1"}
    )
    with pytest.raises(SetupError, match=r"cannot be opened: cannot open; see sink\.catalog$"):
        log.committed()
