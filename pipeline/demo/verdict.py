"""The demo's judgement: the tables compared with the CSV, number by number."""

from __future__ import annotations

from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import Job
from pipeline.demo.source import CarrierSums, OriginSums, sums_by_carrier, sums_by_origin
from pipeline.places import uri
from pipeline.shape import shape_of
from pipeline.sinks.tables import ledger_of
from pipeline.table_note import note_of
from pipeline.table_rows import files_of, read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def landed_carriers(flights: DataFrame) -> dict[str, CarrierSums]:
    """Return the sums that the table of flights shows."""
    from pyspark.sql import functions as F

    counted = flights.groupBy("carrier").agg(
        F.count(F.lit(1)),
        F.coalesce(F.sum("arr_delay"), F.lit(0)),
        F.count("arr_delay"),
        F.coalesce(F.sum("dep_delay"), F.lit(0)),
        F.count("dep_delay"),
    )
    return {row[0]: CarrierSums(*row[1:]) for row in counted.collect()}


def landed_origins(weather: DataFrame) -> dict[str, OriginSums]:
    """Return the sums that the table of weather shows."""
    from pyspark.sql import functions as F

    counted = weather.groupBy("origin").agg(F.count(F.lit(1)), F.sum("temp"), F.count("temp"))
    return {row[0]: OriginSums(*row[1:]) for row in counted.collect()}


def repeated_records(table: DataFrame) -> int:
    """Return how many rows repeat another, by the coordinates of their record."""
    from pyspark.sql import functions as F

    [counted] = table.agg(F.count(F.lit(1)), F.count_distinct("topic", "partition", "offset")).collect()
    rows, records = counted
    return int(rows - records)


def compare(spark: SparkSession, flights_job: Job, lake: Path) -> tuple[list[str], list[str]]:
    """Return lines that show the comparison, and the differences; none means exact."""
    ledger = ledger_of(flights_job)
    flights = read_files(spark, flights_job, note_of(flights_job, shape_of(flights_job)), files_of(ledger))
    weather = spark.read.parquet(uri(lake / "weather"))
    expected, found = sums_by_carrier(), landed_carriers(flights)
    expected_weather, found_weather = sums_by_origin(), landed_origins(weather)
    differences = differing("carrier", expected, found) + differing("origin", expected_weather, found_weather)
    for name, table in (("flights", flights), ("weather", weather)):
        repeated = repeated_records(table)
        if repeated:
            differences.append(f"{name}: {repeated:,} rows repeat another")
    return [*carrier_lines(expected, found), *origin_lines(expected_weather, found_weather)], differences


def differing(kind: str, expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return one sentence for each number that differs."""
    sentences = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in expected or name not in found:
            sentences.append(f"{kind} {name}: is only in the {'table' if name in found else 'CSV'}")
            continue
        for field, wanted, shown in zip(
            fields(expected[name]), astuple(expected[name]), astuple(found[name]), strict=True
        ):
            if wanted != shown:
                sentences.append(
                    f"{kind} {name}: {field.name} is {shown:,} in the table, {wanted:,} in the CSV"
                )
    return sentences


def carrier_lines(expected: dict[str, CarrierSums], found: dict[str, CarrierSums]) -> list[str]:
    """Return the flights by carrier as a table."""
    lines = [
        "  carrier   flights   arrival delay   departure delay   (minutes; = where the CSV says the same)"
    ]
    for name, sums in sorted(found.items()):
        same = "=" if expected.get(name) == sums else "DIFFERS"
        lines.append(f"  {name:<7} {sums.flights:>9,} {sums.arr_delay:>15,} {sums.dep_delay:>17,}   {same}")
    flights, arrivals, departures = (
        sum(getattr(sums, field) for sums in found.values())
        for field in ("flights", "arr_delay", "dep_delay")
    )
    same = "=" if expected == found else "DIFFERS"
    return [*lines, f"  {'all':<7} {flights:>9,} {arrivals:>15,} {departures:>17,}   {same}"]


def origin_lines(expected: dict[str, OriginSums], found: dict[str, OriginSums]) -> list[str]:
    """Return the weather by airport as a table."""
    lines = ["  airport   reports   temperatures      sum in °F"]
    for name, sums in sorted(found.items()):
        same = "=" if expected.get(name) == sums else "DIFFERS"
        lines.append(
            f"  {name:<7} {sums.reports:>9,} {sums.temperature_known:>14,} {sums.temperature:>14,}   {same}"
        )
    return lines
