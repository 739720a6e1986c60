"""Records to rows: those that fit, those that are bad and why, and those that land."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pipeline.rows import bad_rows, chained, good_rows, parse
from tests.pipeline.made import NEW_YEAR_MS, lake_shape, records

COLUMNS = (
    "a bigint, d timestamp, e decimal(6,2), f struct<g: int>, h array<int>, k map<string, string>, l date"
)


def rows_of(spark: Any, values: list[bytes | None], **tables: Any) -> tuple[list[Any], list[Any]]:
    """Return the good and the bad rows of values, in order."""
    tables.setdefault("schema", {"mode": "json", "columns": COLUMNS})
    shape = lake_shape(**tables)
    parsed = parse(records(spark, values), shape)
    good = good_rows(parsed, shape).orderBy("offset").collect()
    return good, bad_rows(parsed).orderBy("offset").collect()


def test_values_that_fit_land_in_their_columns(spark: Any) -> None:
    value = (
        b'{"a":1,"d":"2013-01-01T10:00:00Z","e":12.35,"f":{"g":1},"h":[1,2],"k":{"x":"y"},"l":"2013-01-01"}'
    )
    [row, empty], bad = rows_of(spark, [value, None])
    assert bad == []
    assert [row[name] for name in "adefhkl"] == [
        1,
        datetime(2013, 1, 1, 10),  # noqa: DTZ001  (Spark's own, in the session's zone)
        Decimal("12.35"),
        (1,),
        [1, 2],
        {"x": "y"},
        date(2013, 1, 1),
    ]
    assert [empty[name] for name in "adefhkl"] == [None] * 7


def test_a_bad_row_names_its_reason_and_where_it_comes_from(spark: Any) -> None:
    shape = lake_shape("a bigint")
    parsed = parse(records(spark, [b'{"a":"x"}', b'{"a":1}'], first=40, partition=3), shape)
    [row] = bad_rows(parsed).collect()
    assert (bytes(row.key), bytes(row.value), row.reason) == (
        b"40",
        b'{"a":"x"}',
        "a: expected bigint, got a string",
    )
    assert (row.topic, row.partition, row.offset) == ("t", 3, 40)


def test_the_name_of_a_single_topic_need_not_go_to_the_workers_to_be_on_every_row(spark: Any) -> None:
    shape = lake_shape("a bigint")
    source = records(spark, [b'{"a":1}', b'{"a":"x"}'])
    sent, named = parse(source, shape), parse(source.drop("topic"), shape, "t")
    assert sorted(named.columns) == sorted(sent.columns)
    assert good_rows(named, shape).collect() == good_rows(sent, shape).collect()
    assert bad_rows(named).collect() == bad_rows(sent).collect()


def test_a_topic_that_is_named_stays_what_it_is_where_no_worker_reads(spark: Any) -> None:
    shape = lake_shape(schema={"mode": "raw"})
    [row] = good_rows(parse(records(spark, [b"{}"]), shape, "t"), shape).collect()
    assert (row.topic, row.offset) == ("t", 0)


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


def test_a_key_that_is_not_text_makes_the_record_bad(spark: Any) -> None:
    shape = lake_shape("a int")
    damaged = records(spark, [b"{}", b"{}", b"{}"]).selectExpr(
        "case offset when 0 then x'ff' when 1 then null else key end as key",
        *("value", "topic", "partition", "offset", "timestamp", "timestampType"),
    )
    parsed = parse(damaged, shape)
    assert [row.reason for row in bad_rows(parsed).collect()] == ["the key is not UTF-8"]
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


def test_a_raw_record_is_bad_whose_key_cannot_name_its_folder(spark: Any) -> None:
    shape = lake_shape(schema={"mode": "raw", "key": "string"}, sink={"partition_by": ["key"]})
    long = records(spark, [b"v", b"w"]).selectExpr(
        "* except (key)", "if(offset = 0, repeat('k', 300), 'k') as name"
    )
    parsed = parse(long.selectExpr("* except (name)", "cast(name as binary) as key"), shape)
    [good], [bad] = good_rows(parsed, shape).collect(), bad_rows(parsed).collect()
    assert (good.key, good.value, bad.value) == ("k", bytearray(b"w"), bytearray(b"v"))
    assert bad.reason == "column key names a folder of 304 bytes, and 255 are the most"


def test_headers_land_where_asked(spark: Any) -> None:
    shape = lake_shape(schema={"headers": True})
    with_headers = records(spark, [b"v"]).selectExpr(
        "* except (headers)", "array(named_struct('key', 'trace', 'value', x'01')) as headers"
    )
    [row] = good_rows(parse(with_headers, shape), shape).collect()
    assert row.headers == [("trace", bytearray(b"\x01"))]


def test_a_view_and_the_columns_of_its_result_take_one_way_to_the_workers(spark: Any) -> None:
    view = {"view": "SELECT a * 2 AS b FROM t WHERE a > 1", "view_columns": "a int"}
    shape = lake_shape("b int", source=view)
    parsed = parse(records(spark, [b'{"a":1}', b'{"a":4}']), shape)
    assert [(row.b, row.offset) for row in good_rows(parsed, shape).collect()] == [(8, 1)]
    plan = parsed._jdf.queryExecution().executedPlan().toString()
    assert plan.count("MapInArrow") == 1


def test_workers_are_sent_only_what_rows_and_the_quarantine_are_made_of(spark: Any) -> None:
    more = records(spark, [b"{}"]).selectExpr("*", "'x' as more")
    assert "timestampType" not in parse(more, lake_shape("a int")).columns
    raw = parse(more, lake_shape()).columns
    assert ("more" in raw, "timestampType" in raw) == (False, True)


def test_functions_follow_each_other_over_the_same_batches() -> None:
    run = chained([lambda batches: (each + 1 for each in batches), lambda batches: map(str, batches)])
    assert list(run(iter([1, 2]))) == ["2", "3"]
