"""The two loads must find exactly the flights that are late."""

from __future__ import annotations

import json

from benchmarks.clients.flights import detailed
from benchmarks.clients.late_flights import expected


def test_expected_are_the_late_flights() -> None:
    rows = [json.loads(detailed(number)) for number in range(1_000)]
    assert expected(1_000) == [(row["id"], row["carrier"]) for row in rows if row["delay"] == 99]
    assert expected(99) == []
    assert expected(100) == [(99, "C19")]
