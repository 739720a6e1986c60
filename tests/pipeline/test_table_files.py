"""The columns in the files of a table, and the file that names those of all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ledger import SCHEMA, File, Ledger
from pipeline.table_files import note_of_files, type_name, write_schema
from pipeline.table_note import TableNote
from tests.pipeline.made import entry, open_ledger


def parquet(path: Path, **columns: pa.DataType) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: pa.array([], kind) for name, kind in columns.items()}), path)
    return path


def landed(tmp_path: Path, relative: str, **columns: pa.DataType) -> Ledger:
    parquet(tmp_path / "staged" / relative, **columns)
    ledger = open_ledger(tmp_path)
    files = [File(path=relative, rows=0, size_bytes=0, crc32c=0)]
    ledger.publish(tmp_path / "staged", entry(0, 0, 5, files=files))
    return ledger


def test_a_table_without_a_note_is_known_by_its_newest_file(tmp_path: Path) -> None:
    ledger = landed(tmp_path, "origin=JFK/a.parquet", n=pa.int32(), t=pa.timestamp("us", "UTC"))
    expected = TableNote(columns={"n": "bigint", "t": "timestamp", "origin": "string"}, required=["n"])
    note = note_of_files(ledger, expected)
    assert note is not None
    assert note.columns == {"n": "int", "t": "timestamp", "origin": "string"}
    assert (note.partition_by, note.required) == (["origin"], ["n"])


def test_a_table_without_files_has_no_note(tmp_path: Path) -> None:
    assert note_of_files(open_ledger(tmp_path), TableNote(columns={})) is None


def test_types_are_called_as_spark_calls_them() -> None:
    kinds = [
        (
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            "array<struct<key:string,value:binary>>",
        ),
        (pa.map_(pa.string(), pa.float64()), "map<string,double>"),
        (pa.decimal128(6, 2), "decimal(6,2)"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.date32(), "date"),
        (pa.bool_(), "boolean"),
    ]
    assert [type_name(kind) for kind, _ in kinds] == [name for _, name in kinds]


def test_the_schema_file_has_every_column_in_the_wider_type(tmp_path: Path) -> None:
    ledger, table, scratch = open_ledger(tmp_path), tmp_path / "t", tmp_path / "staging" / "schema"
    write_schema(ledger, scratch, [parquet(tmp_path / "a.parquet", a=pa.int32(), b=pa.string())])
    write_schema(ledger, scratch, [parquet(tmp_path / "b.parquet", a=pa.int64(), c=pa.float64())])
    write_schema(ledger, scratch, [parquet(tmp_path / "c.parquet", a=pa.int32())])
    schema = pq.read_schema(table / SCHEMA)
    assert {field.name: str(field.type) for field in schema} == {"a": "int64", "b": "string", "c": "double"}


def test_the_schema_file_is_left_alone_when_nothing_is_new(tmp_path: Path) -> None:
    ledger, table, scratch = open_ledger(tmp_path), tmp_path / "t", tmp_path / "staging" / "schema"
    file = parquet(tmp_path / "a.parquet", a=pa.int32())
    write_schema(ledger, scratch, [file])
    before = (table / SCHEMA).stat().st_ino
    write_schema(ledger, scratch, [file])
    assert (table / SCHEMA).stat().st_ino == before
