"""The demo's judgement, which finds every difference."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pipeline.demo.source import CarrierSums, OriginSums
from pipeline.demo.verdict import (
    carrier_lines,
    differing,
    landed_carriers,
    landed_origins,
    origin_lines,
    repeated_records,
)

EXPECTED = {"UA": CarrierSums(2, 11, 1, -3, 2), "AA": CarrierSums(1, 5, 1, 0, 0)}


def test_the_table_is_summed_as_the_csv_is(spark: Any) -> None:
    rows = [("UA", 11, -1), ("UA", None, -2), ("AA", 5, None)]
    table = spark.createDataFrame(rows, "carrier string, arr_delay int, dep_delay int")
    assert landed_carriers(table) == EXPECTED


def test_decimals_are_summed_exactly(spark: Any) -> None:
    rows = [("JFK", Decimal("0.10"))] * 3 + [("JFK", None)]
    table = spark.createDataFrame(rows, "origin string, temp decimal(6,2)")
    assert landed_origins(table) == {"JFK": OriginSums(4, Decimal("0.3"), 3)}


def test_rows_that_are_there_twice_are_counted(spark: Any) -> None:
    rows = [("t", 0, 1), ("t", 0, 2), ("t", 0, 2), ("t", 1, 2)]
    assert repeated_records(spark.createDataFrame(rows, "topic string, partition int, offset long")) == 1


def test_equal_sums_have_no_differences() -> None:
    assert differing("carrier", EXPECTED, dict(EXPECTED)) == []


def test_every_number_that_differs_is_named() -> None:
    found = {"UA": CarrierSums(2, 12, 1, -3, 2), "XX": CarrierSums(1)}
    assert differing("carrier", EXPECTED, found) == [
        "carrier AA: is only in the CSV",
        "carrier UA: arr_delay is 12 in the table, 11 in the CSV",
        "carrier XX: is only in the table",
    ]


def test_the_lines_mark_what_differs() -> None:
    same, other = carrier_lines(EXPECTED, EXPECTED), carrier_lines(EXPECTED, {"UA": CarrierSums(2)})
    assert [line.split()[-1] for line in same[1:]] == ["=", "=", "="]
    assert [line.split()[-1] for line in other[1:]] == ["DIFFERS", "DIFFERS"]
    assert same[-1].split() == ["all", "3", "16", "-3", "="]
    assert origin_lines({}, {"JFK": OriginSums(4, Decimal("0.30"), 3)})[1].split() == [
        "JFK",
        "4",
        "3",
        "0.30",
        "DIFFERS",
    ]
