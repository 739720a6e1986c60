"""The columns that land of a record batch."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa

from pipeline.arrow_rows import read_rows
from pipeline.landed_columns import bad_columns, landed_columns
from tests.pipeline.made import lake_shape


def parsed(shape: Any, values: list[bytes], times_us: list[int | None], **more: Any) -> Any:
    """Return records with the columns of their values."""
    records = {
        "key": pa.array([b"k"] * len(values), pa.binary()),
        "value": pa.array(values, pa.binary()),
        **more,
        "topic": ["t"] * len(values),
        "partition": pa.array([3] * len(values), pa.int32()),
        "offset": pa.array(range(len(values)), pa.int64()),
        "timestamp": pa.array(times_us, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
    }
    return read_rows(pa.RecordBatch.from_pydict(records), shape)


def test_the_records_own_columns_have_the_jobs_prefix_and_follow_the_declared_ones() -> None:
    shape = lake_shape("a int, topic string", schema={"rescue": "rest", "coordinates_prefix": "kafka_"})
    columns = landed_columns(parsed(shape, [b'{"a":1,"topic":"x","b":2}'], [0]), shape)
    assert list(columns) == shape.landed
    assert (columns["topic"][0].as_py(), columns["kafka_topic"][0].as_py()) == ("x", "t")
    assert (columns["rest"].to_pylist(), columns["kafka_key"].to_pylist()) == ([[("b", "2")]], ["k"])


def test_date_and_hour_are_those_of_the_record_in_utc_also_before_1970() -> None:
    shape = lake_shape("a int", sink={"partition_by": ["date", "hour"]})
    hour_us = 3_600_000_000
    columns = landed_columns(parsed(shape, [b"{}"] * 3, [5 * hour_us, -1, None]), shape)
    assert columns["date"].to_pylist() == [date(1970, 1, 1), date(1969, 12, 31), None]
    assert columns["hour"].to_pylist() == [5, 23, None]
    assert (columns["date"].type, columns["hour"].type) == (pa.date32(), pa.int32())


def test_the_quarantine_has_headers_where_the_records_came_with_them() -> None:
    shape = lake_shape("a int")
    headers = pa.array([None], pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
    rows = parsed(shape, [b"junk"], [0], headers=headers)
    names = ["reason", "key", "value", "headers", "topic", "partition", "offset", "timestamp"]
    assert list(bad_columns(rows)) == names
    assert "headers" not in bad_columns(rows.drop_columns(["headers"]))
