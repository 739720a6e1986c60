"""The flights that are produced are what the benchmark says of them."""

from __future__ import annotations

import json

from benchmarks.clients.flights import VALUE_BYTES, value


def test_a_flight_is_json_of_the_stated_size() -> None:
    for number in (0, 99, 100, 123_456_789):
        text = value(number)
        assert len(text) == VALUE_BYTES
        row = json.loads(text)
        assert row["id"] == number
        assert row["delay"] == number % 100
        assert row["carrier"] == f"C{number % 20}"


def test_of_a_hundred_flights_one_is_late() -> None:
    assert sum(json.loads(value(number))["delay"] == 99 for number in range(1_000)) == 10
