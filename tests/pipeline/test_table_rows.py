"""The rows of a table by the files that its ledger names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ledger import File
from pipeline.table_note import TableNote
from pipeline.table_rows import files_of, read_files
from tests.pipeline.made import entry, job, open_ledger

NOTE = TableNote(columns={"n": "bigint", "extra": "string", "origin": "string"}, partition_by=["origin"])


def landed(folder: Path) -> Any:
    """Land two batches, the older without the newer column and with a narrower type."""
    ledger = open_ledger(folder)
    for batch, table in enumerate(
        (pa.table({"n": pa.array([1], pa.int32())}), pa.table({"n": [2], "extra": ["x"]}))
    ):
        path = folder / "staged" / "origin=[JFK]" / f"{batch}.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table, path)
        files = [File(path=f"origin=[JFK]/{batch}.parquet", rows=1, size_bytes=1, crc32c=0)]
        ledger.publish(folder / "staged", entry(batch, batch, batch + 1, files=files, table=NOTE))
    return ledger


def test_rows_have_every_column_of_the_table_and_strangers_files_do_not_count(
    spark: Any, tmp_path: Path
) -> None:
    ledger = landed(tmp_path)
    pq.write_table(
        pa.table({"n": [99]}), tmp_path / "t" / "batch=0000000001" / "origin=[JFK]" / "stranger.parquet"
    )
    rows = read_files(spark, job(tmp_path), NOTE, files_of(ledger), with_batch=True).orderBy("n").collect()
    assert [tuple(row) for row in rows] == [(1, None, "[JFK]", 0), (2, "x", "[JFK]", 1)]


def test_some_batches_are_read_alone(spark: Any, tmp_path: Path) -> None:
    ledger = landed(tmp_path)
    assert files_of(ledger, [1]) == ["batch=0000000001/origin=[JFK]/1.parquet"]


def test_a_table_without_files_has_no_rows_and_its_columns(spark: Any, tmp_path: Path) -> None:
    frame = read_files(spark, job(tmp_path), NOTE, [])
    assert (frame.columns, frame.count()) == (["n", "extra", "origin"], 0)
