"""The flights that are produced are as the benchmark describes them."""

from __future__ import annotations

import json
import zlib

from benchmarks.clients.flights import VALUE_BYTES, detailed, value


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


def test_a_detailed_flight_agrees_with_the_plain_one() -> None:
    for number in (0, 99, 100, 123_456_789):
        text = detailed(number)
        assert len(text) == VALUE_BYTES
        plain, row = json.loads(value(number)), json.loads(text)
        assert {name: row[name] for name in ("id", "delay", "carrier")} == {
            name: plain[name] for name in ("id", "delay", "carrier")
        }


def test_detailed_flights_compress_about_threefold() -> None:
    together = b"".join(map(detailed, range(200)))
    assert 2 < len(together) / len(zlib.compress(together)) < 4
