"""Records to rows: those that fit, those that are bad and why, and those that land."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import isnan
from typing import Any

from pipeline.quarantine import bad_rows
from pipeline.rows import good_rows, parse
from tests.pipeline.made import NEW_YEAR_MS, lake_shape, records

COLUMNS = (
    "a bigint, b string, c double, d timestamp, e decimal(6,2), f struct<g: int>, h array<int>, i boolean"
)

GOOD: dict[bytes, dict[str, Any]] = {
    b'{"a":1,"b":"x","c":1.5,"i":true}': {"a": 1, "b": "x", "c": 1.5, "i": True},
    b'{"d":"2013-01-01T10:00:00Z"}': {"d": datetime(2013, 1, 1, 10)},  # noqa: DTZ001  (Spark's own, in the session's zone)
    b'{"e":12.35}': {"e": Decimal("12.35")},
    b'{"f":{"g":1},"h":[1,2]}': {"f": (1,), "h": [1, 2]},
    b' \n{"a":1}\r\n': {"a": 1},
    b"{}": {},
    b'{"a":null}': {},
    b'{"b":5}': {"b": "5"},
    b'{"b":{"z":1}}': {"b": '{"z":1}'},
    b'{"A":1}': {},
    b'{"a":1,"a":2}': {"a": 2},
    '{"b":"żółć 🛩"}'.encode(): {"b": "żółć 🛩"},
}

BAD: dict[bytes | None, str] = {
    None: "the record has no value",
    b"": "the value is not one JSON object",
    b"  ": "the value is not one JSON object",
    b"null": "the value is not one JSON object",
    b"5": "the value is not one JSON object",
    b"[]": "the value is not one JSON object",
    b'[{"a":1}]': "the value is not one JSON object",
    b'{"a":1': "the value is not one JSON object",
    b'{"a":1} junk': "the value is not one JSON object",
    b'{"a":1}{"a":2}': "the value is not one JSON object",
    b'{"a":1},{"a":2}': "the value is not one JSON object",
    b'{"a":1}}': "the value is not one JSON object",
    b'{"a":1}\0': "the value is not one JSON object",
    b"{'a':1}": "the value is not one JSON object",
    b'{"a":01}': "the value is not one JSON object",
    b'\xef\xbb\xbf{"a":1}': "the value is not one JSON object",
    b'{"b":"\xff\xfe"}': "the value is not UTF-8",
    b'{"a":"5"}': "column 'a' is bigint, but the value is 5",
    b'{"a":2.5}': "column 'a' is bigint, but the value is 2.5",
    b'{"a":9223372036854775808}': "column 'a' is bigint, but the value is 9223372036854775808",
    b'{"c":"fast"}': "column 'c' is double, but the value is fast",
    b'{"d":"soon"}': "column 'd' is timestamp, but the value is soon",
    b'{"e":123456.78}': "column 'e' is decimal(6,2), but the value is 123456.78",
    b'{"f":{"g":"x"}}': 'column \'f\' is struct<g:int>, but the value is {"g":"x"}',
    b'{"h":[1,"x"]}': "column 'h' is array<int>, but the value is [1,\"x\"]",
    b'{"a":1,"c":"x","i":"y"}': "column 'c' is double, but the value is x",
}


def rows_of(spark: Any, values: list[bytes | None], **tables: Any) -> tuple[list[Any], list[Any]]:
    """Return the good and the bad rows of values, in order."""
    tables.setdefault("schema", {"mode": "json", "columns": COLUMNS})
    shape = lake_shape(**tables)
    parsed = parse(records(spark, values), shape)
    good = good_rows(parsed, shape).orderBy("offset").collect()
    return good, bad_rows(parsed, shape).orderBy("offset").collect()


def test_values_that_fit_land_in_their_columns(spark: Any) -> None:
    good, bad = rows_of(spark, list(GOOD))
    assert bad == []
    names = [column.split()[0] for column in ("a", "b", "c", "d", "e", "f", "h", "i")]
    found = [{name: row[name] for name in names if row[name] is not None} for row in good]
    assert found == list(GOOD.values())


def test_values_that_do_not_fit_are_bad_with_their_reason(spark: Any) -> None:
    good, bad = rows_of(spark, list(BAD))
    assert good == []
    assert {None if row.value is None else bytes(row.value): row.reason for row in bad} == BAD


def test_nan_and_infinity_are_doubles(spark: Any) -> None:
    good, bad = rows_of(spark, [b'{"c":NaN}', b'{"c":-Infinity}'])
    assert bad == []
    assert isnan(good[0].c)
    assert good[1].c == float("-inf")


def test_every_row_carries_where_it_comes_from(spark: Any) -> None:
    [row], _ = rows_of(spark, [b"{}"])
    assert (row.key, row.topic, row.partition, row.offset) == ("0", "t", 0, 0)
    assert row.timestamp.replace(tzinfo=UTC).timestamp() * 1000 == NEW_YEAR_MS


def test_a_bad_row_keeps_the_record_as_it_came(spark: Any) -> None:
    _, [row] = rows_of(spark, [b"\xff\x00"])
    assert (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) == (
        b"0",
        b"\xff\x00",
        "t",
        0,
        0,
    )


def test_a_column_declared_not_null_makes_a_record_without_it_bad(spark: Any) -> None:
    schema = {"mode": "json", "columns": "a int not null, b int"}
    good, bad = rows_of(spark, [b'{"a":1}', b'{"b":1}', b'{"a":null}', b'{"a":"x"}'], schema=schema)
    assert [row.offset for row in good] == [0]
    assert [row.reason for row in bad] == [
        "column 'a' is declared not null and has no value",
        "column 'a' is declared not null and has no value",
        "column 'a' is int, but the value is x",
    ]


def test_a_key_that_is_not_text_makes_the_record_bad(spark: Any) -> None:
    shape = lake_shape("a int")
    damaged = records(spark, [b"{}", b"{}", b"{}"]).selectExpr(
        "case offset when 0 then x'ff' when 1 then null else key end as key",
        *("value", "topic", "partition", "offset", "timestamp", "timestampType"),
    )
    parsed = parse(damaged, shape)
    assert [row.reason for row in bad_rows(parsed, shape).collect()] == ["the key is not UTF-8"]
    assert [row.key for row in good_rows(parsed, shape).orderBy("offset").collect()] == [None, "2"]


def test_undeclared_fields_are_rescued_where_asked(spark: Any) -> None:
    schema = {"mode": "json", "columns": "a int", "rescue": "rest"}
    good, _ = rows_of(spark, [b'{"a":1,"b":"x","c":{"d":[2]}}', b'{"a":1}'], schema=schema)
    assert [row.rest for row in good] == [{"b": "x", "c": '{"d":[2]}'}, None]


def test_raw_records_are_never_bad_and_stay_bytes(spark: Any) -> None:
    good, bad = rows_of(spark, [b"\xff", None], schema={})
    assert bad == []
    assert [(bytes(row.key), row.value, row.timestamp_type) for row in good] == [
        (b"0", bytearray(b"\xff"), 0),
        (b"1", None, 0),
    ]


def test_headers_land_where_asked(spark: Any) -> None:
    shape = lake_shape(schema={"headers": True})
    with_headers = records(spark, [b"v"]).selectExpr(
        "* except (headers)", "array(named_struct('key', 'trace', 'value', x'01')) as headers"
    )
    [row] = good_rows(parse(with_headers, shape), shape).collect()
    assert row.headers == [("trace", bytearray(b"\x01"))]


def test_date_and_hour_are_those_of_the_record_in_utc(spark: Any) -> None:
    [row], _ = rows_of(spark, [b"{}"], sink={"partition_by": ["date", "hour"]})
    assert (row.date, row.hour) == (date(2013, 1, 1), 0)


def test_the_value_is_parsed_once_for_the_rows_and_the_count_of_bad_ones(spark: Any) -> None:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    shape = lake_shape("a int, b int")
    parsed = parse(records(spark, [b"{}"]), shape).observe(
        Observation(), F.count_if("_kawal_bad").alias("bad")
    )
    plan = good_rows(parsed, shape)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("from_json") == 1
