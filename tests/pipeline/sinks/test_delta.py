"""The log of a Delta table: our files, each batch once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pipeline.ledger import Entry, File, Ledger
from pipeline.sinks.delta import DeltaLog, delta_schema
from pipeline.table_note import TableNote
from tests.pipeline.made import entry

NOTE = TableNote(columns={"n": "int", "origin": "string"}, partition_by=["origin"], kind="delta")


def open_table(folder: Path, note: TableNote = NOTE) -> Ledger:
    log = DeltaLog(folder / "t", job="land-t", note=note)
    return Ledger(folder / "t", job="land-t", batch_column="batch", log=log)


def staged(folder: Path, path: str, numbers: list[int]) -> list[File]:
    target = folder / "staged" / path
    target.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int32())}), target)
    return [File(path=path, rows=len(numbers), size_bytes=target.stat().st_size, crc32c=0)]


def publish(folder: Path, batch: int, numbers: list[int], *, origin: str = "JFK", **changed: Any) -> Entry:
    files = staged(folder, f"origin={origin}/part.parquet", numbers)
    landed = entry(batch, batch, batch + 1, **{"files": files, "table": NOTE, **changed})
    open_table(folder).publish(folder / "staged", landed)
    return landed


def numbers_in(folder: Path) -> list[int]:
    table: list[int] = DeltaTable(folder / "t").to_pyarrow_table()["n"].to_pylist()
    return sorted(table)


def test_each_batch_is_one_commit_that_names_it(tmp_path: Path) -> None:
    publish(tmp_path, 0, [1, 2])
    publish(tmp_path, 1, [3])
    assert numbers_in(tmp_path) == [1, 2, 3]
    table = DeltaTable(tmp_path / "t")
    assert table.transaction_version("kawal.land-t") == 1
    assert table.metadata().partition_columns == ["origin"]
    [newest] = table.history(1)
    assert (newest["kawal.job"], newest["kawal.batch"]) == ("land-t", "1")
    ledger = open_table(tmp_path)
    assert (ledger.batches(), ledger.next_batch) == ([0, 1], 2)


def test_a_folder_without_a_commit_is_not_seen_and_is_made_again(tmp_path: Path) -> None:
    class Crash(BaseException):
        pass

    def die() -> None:
        raise Crash

    publish(tmp_path, 0, [1])
    files = staged(tmp_path, "origin=JFK/part.parquet", [7, 8, 9])
    ledger = open_table(tmp_path)
    ledger.on_placed = die
    with pytest.raises(Crash):
        ledger.publish(tmp_path / "staged", entry(1, 1, 2, files=files, table=NOTE))
    assert (tmp_path / "t" / "batch=0000000001").is_dir()
    assert numbers_in(tmp_path) == [1]
    assert open_table(tmp_path).next_batch == 1
    publish(tmp_path, 1, [2])
    assert numbers_in(tmp_path) == [1, 2]


@pytest.mark.parametrize("origin", ["A%20B", "caf%C3%A9", "50%25"])
def test_folders_with_escaped_values_are_found(tmp_path: Path, origin: str) -> None:
    publish(tmp_path, 0, [1], origin=origin)
    assert numbers_in(tmp_path) == [1]
    log = open_table(tmp_path).log
    assert log is not None
    assert log.files() == [f"batch=0000000000/origin={origin}/part.parquet"]


def test_a_batch_without_files_counts(tmp_path: Path) -> None:
    open_table(tmp_path)
    (tmp_path / "staged").mkdir()
    open_table(tmp_path).publish(tmp_path / "staged", entry(0, 0, 5, table=NOTE))
    assert open_table(tmp_path).positions == {"t": {"0": 5}}


def test_a_new_column_is_added_to_the_table(tmp_path: Path) -> None:
    publish(tmp_path, 0, [1])
    wider = TableNote(columns={**NOTE.columns, "extra": "double"}, partition_by=["origin"], kind="delta")
    publish(tmp_path, 1, [2], table=wider)
    table = DeltaTable(tmp_path / "t")
    assert {field.name for field in table.schema().fields} == {"n", "origin", "extra"}
    assert numbers_in(tmp_path) == [1, 2]


def test_a_batch_that_is_committed_already_is_not_committed_again(tmp_path: Path) -> None:
    for batch in (0, 1):
        landed = publish(tmp_path, batch, [batch])
        log = open_table(tmp_path).log
        assert log is not None
        log.commit(landed, f"batch={batch:010d}", {})
        assert DeltaTable(tmp_path / "t").version() == batch + 1


def test_another_writer_of_the_table_does_not_confuse_the_job(tmp_path: Path) -> None:
    publish(tmp_path, 0, [1])
    DeltaTable(tmp_path / "t").optimize.compact()
    publish(tmp_path, 1, [2])
    assert (numbers_in(tmp_path), open_table(tmp_path).batches()) == ([1, 2], [0, 1])


def test_the_schema_has_every_type_and_the_derived_partition_columns() -> None:
    columns = {
        "a": "decimal(6,2)",
        "b": "map<string,string>",
        "headers": "array<struct<key:string,value:binary>>",
        "t": "timestamp",
        "k": "binary",
    }
    schema = delta_schema(TableNote(columns=columns, partition_by=["date", "hour"], kind="delta"))
    fields = {field["name"]: field["type"] for field in json.loads(schema.to_json())["fields"]}
    assert (fields["a"], fields["k"], fields["date"], fields["hour"]) == (
        "decimal(6,2)",
        "binary",
        "date",
        "integer",
    )
    assert fields["headers"]["elementType"]["fields"][1]["type"] == "binary"


def test_every_version_that_a_commit_makes_is_synced_and_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version that makes the table was left to the system, and so was one of a run that was killed."""
    synced: list[str] = []
    monkeypatch.setattr("pipeline.sinks.delta.sync_path", lambda path: synced.append(path.name))
    publish(tmp_path, 0, [0])
    assert synced == ["00000000000000000000.json", "00000000000000000001.json", "_delta_log", "t"]
    synced.clear()
    publish(tmp_path, 1, [1])
    assert synced == ["00000000000000000001.json", "00000000000000000002.json", "_delta_log", "t"]
