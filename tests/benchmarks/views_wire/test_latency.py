"""The table of latencies: all rounds together, and how far apart they are."""

from __future__ import annotations

from benchmarks.views_wire.latency import table


def test_rounds_are_taken_together_and_their_p99_told() -> None:
    quiet, busy = [1.0] * 100, [1.0] * 50 + [5.0] * 49 + [9.0]
    *_, line = table({"Kawal": [quiet, busy]})
    assert line == "| Kawal | 1.00 ms | 5.00 ms | 1.00-5.00 ms |"


def test_every_way_has_a_line() -> None:
    lines = list(table({"a": [[1.0]], "b": [[2.0]]}))
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["a", "b"]
