"""Record batches of the source to record batches of rows."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa

from pipeline.arrow_rows import FIELD, REASON, RESCUED, arrow_type, read_rows, row_reader
from pipeline.columns import parse_columns
from tests.pipeline.made import lake_shape


def batch(keys: list[bytes | None], values: list[bytes | None]) -> Any:
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "offset": range(len(values)),
        }
    )


def test_values_that_fit_become_columns_and_only_the_others_keep_their_bytes() -> None:
    shape = lake_shape("a int, t timestamp")
    rows = read_rows(batch([b"k", b"k"], [b'{"a":1,"t":1}', b"junk"]), shape).to_pydict()
    assert rows["value"] == [None, b"junk"]
    assert rows[f"{FIELD}0"] == [1, None]
    assert rows[f"{FIELD}1"][0].timestamp() == 0.001
    assert rows[REASON] == [None, "not JSON: invalid character (byte 0)"]
    assert rows["offset"] == [0, 1]


def test_a_key_that_is_not_text_makes_the_record_bad_only_where_keys_land_as_text() -> None:
    values: list[bytes | None] = [b"{}", b"{}", b"{}"]
    keys = [b"\xff", None, b"k"]
    assert read_rows(batch(keys, values), lake_shape("a int"))[REASON].to_pylist() == [
        "the key is not UTF-8",
        None,
        None,
    ]
    binary = lake_shape("a int", schema={"key": "binary"})
    assert read_rows(batch(keys, values), binary)[REASON].null_count == 3


def test_undeclared_members_are_a_map() -> None:
    shape = lake_shape("a int", schema={"rescue": "rest"})
    rows = read_rows(batch([None], [b'{"a":1,"b":2}']), shape)
    assert rows[RESCUED].to_pylist() == [[("b", "2")]]


def test_every_type_has_its_arrow_type() -> None:
    text = (
        "a boolean, b tinyint, c smallint, d int, e bigint, f float, g double, h string, i date, j "
        "timestamp, "
        "k timestamp_ntz, l decimal(6,2), m array<int>, n map<string,double>, o struct<p: date>"
    )
    made = [str(arrow_type(column.type)) for column in parse_columns(text)]
    assert made[:10] == [
        *("bool", "int8", "int16", "int32", "int64", "float", "double", "string", "date32[day]"),
        "timestamp[us, tz=UTC]",
    ]
    assert made[10:] == [
        "timestamp[us]",
        "decimal128(6, 2)",
        "list<item: int32>",
        "map<string, double>",
        "struct<p: date32[day]>",
    ]


def test_the_shape_that_workers_get_can_be_sent() -> None:
    shape = pickle.loads(pickle.dumps(lake_shape("a int")))
    [rows] = row_reader(shape)(iter([batch([None], [b'{"a":7}'])]))
    assert rows[f"{FIELD}0"].to_pylist() == [7]
