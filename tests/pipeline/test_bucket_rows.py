"""The rows of files in a bucket, with the columns of the table."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from pipeline import bucket_rows
from pipeline.bucket_config import BucketPlace
from pipeline.bucket_rows import object_reader, rows_of
from pipeline.shape import BATCH

KEY = "batch=0000000007/origin=A%20B/date=2013-01-31/x.parquet"


def stored(key: str, **columns: Any) -> MemoryStore:
    store, written = MemoryStore(), io.BytesIO()
    pq.write_table(pa.table(columns), written)
    obstore.put(store, key, written.getvalue())
    return store


def rows(store: MemoryStore, key: str, *fields: tuple[str, pa.DataType]) -> list[dict[str, Any]]:
    return [row for batch in rows_of(store, key, pa.schema(fields)) for row in batch.to_pylist()]


def test_columns_are_widened_added_and_taken_from_folders() -> None:
    store = stored(KEY, n=pa.array([1, 2], pa.int32()))
    found = rows(
        *(store, KEY),
        *(("n", pa.int64()), ("new", pa.string()), ("origin", pa.string()), ("date", pa.date32())),
        (BATCH, pa.int32()),
    )
    assert found == [
        {"n": n, "new": None, "origin": "A B", "date": date(2013, 1, 31), BATCH: 7} for n in (1, 2)
    ]


def test_a_folder_of_no_value_is_null_and_one_of_a_time_is_in_utc() -> None:
    key = "batch=0000000000/at=2013-01-31 12%3A00%3A00/origin=__HIVE_DEFAULT_PARTITION__/x.parquet"
    fields = [("at", pa.timestamp("us", tz="UTC")), ("origin", pa.string())]
    assert rows(stored(key, n=[1]), key, *fields) == [
        {"at": datetime(2013, 1, 31, 12, tzinfo=UTC), "origin": None}
    ]


def test_many_rows_come_in_batches() -> None:
    store = stored(KEY, n=list(range(25_000)))
    sizes = [batch.num_rows for batch in rows_of(store, KEY, pa.schema([("n", pa.int64())]))]
    assert sum(sizes) == 25_000
    assert max(sizes) <= bucket_rows.BATCH_ROWS


def test_workers_read_every_key_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    store = stored(KEY, n=[5])
    monkeypatch.setattr(bucket_rows, "open_store", lambda *_, **__: store)
    read = object_reader(BucketPlace("lake", "t"), {}, pa.schema([("n", pa.int64())]))
    keys = [pa.RecordBatch.from_pydict({"path": [KEY, KEY]}), pa.RecordBatch.from_pydict({"path": [KEY]})]
    assert [batch.to_pylist() for batch in read(iter(keys))] == [[{"n": 5}]] * 3
