"""The columns that a job lands, and those that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import JobFileError
from tests.pipeline.made import lake_shape


def refusal(columns: str = "", **tables: Any) -> str:
    with pytest.raises(JobFileError) as refused:
        lake_shape(columns, **tables)
    return str(refused.value)


def test_raw_rows_are_the_record_as_it_is() -> None:
    assert lake_shape().landed == [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestamp_type",
    ]


def test_json_rows_are_the_declared_columns_and_where_they_come_from() -> None:
    landed = lake_shape("a bigint, b struct<c: int>", schema={"rescue": "rest", "headers": True}).landed
    assert landed == ["a", "b", "rest", "key", "headers", "topic", "partition", "offset", "timestamp"]


def test_a_prefix_makes_room_for_declared_columns() -> None:
    landed = lake_shape("key string, timestamp bigint", schema={"coordinates_prefix": "kafka_"}).landed
    assert landed[:3] == ["key", "timestamp", "kafka_key"]
    assert landed[-1] == "kafka_timestamp"


def test_a_key_can_be_left_out() -> None:
    assert "key" not in lake_shape("a int", schema={"key": "none"}).landed


def test_columns_declared_not_null_are_required() -> None:
    assert lake_shape("a int not null, b int").required == ["a"]


def test_date_and_hour_are_derived_unless_declared() -> None:
    by = {"partition_by": ["date", "hour"]}
    assert lake_shape("a int", sink=by).derived == ["date", "hour"]
    assert lake_shape("a int, hour int", sink=by).derived == ["date"]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("a bigint, b", "gives column 'b' no type"),
        ("a foo", "unknown type 'foo'"),
        ("a int, A int", "schema.columns declares 'A', but there is a column of that name; rename one"),
        (
            "Offset int",
            "schema.columns declares 'Offset', the record's own column; give schema.coordinates_prefix",
        ),
        ("batch int", "the column 'batch' is also sink.batch_column"),
        ("_kawal_x int", "names beginning with '_kawal_' are used while landing"),
    ],
)
def test_columns_that_cannot_land_are_refused(columns: str, sentence: str) -> None:
    assert sentence in refusal(columns)


def test_a_rescue_column_needs_a_name_of_its_own() -> None:
    assert "schema.rescue is 'a', but there is a column of that name" in refusal(
        "a int", schema={"rescue": "a"}
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("z", "sink.partition_by names 'z', which is not a column; the columns are a, s, key, topic"),
        ("s", "sink.partition_by names 's', whose values cannot be names of folders"),
    ],
)
def test_partition_columns_must_be_columns_with_simple_values(name: str, sentence: str) -> None:
    assert sentence in refusal("a int, s struct<b: int>", sink={"partition_by": [name]})


def test_bytes_cannot_be_names_of_folders() -> None:
    assert "'key', whose values cannot be names" in refusal(sink={"partition_by": ["key"]})


def test_a_file_needs_at_least_one_column() -> None:
    every = ["a", "topic", "partition", "offset", "timestamp"]
    assert "names every column" in refusal("a int", schema={"key": "none"}, sink={"partition_by": every})


@pytest.mark.parametrize("name", ["a b", "a=b", "a;b", "a(b)"])
def test_a_name_that_no_delta_table_may_have_is_refused_in_one_alone(name: str) -> None:
    with pytest.raises(JobFileError, match="which no column of a Delta table may have"):
        lake_shape(f"`{name}` int", sink={"kind": "delta"})
    assert lake_shape(f"`{name}` int").landed[0] == name
