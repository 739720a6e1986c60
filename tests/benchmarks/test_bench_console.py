"""The report of benchmarks/bench_console.py."""

from __future__ import annotations

import pytest

from benchmarks.bench_console import MOST, report


def test_a_figure_above_its_bar_is_told_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    name = "search of 1,000,000 records, s of processor"
    assert report({name: {"kawal": [1.0, 9.0, 2.0]}, "ready, s": {"kawal": [0.3]}})
    printed = capsys.readouterr().out
    assert "2.00   (at most 2.5: met)" in printed
    assert printed.splitlines()[1].split() == ["ready,", "s", "0.30"]
    assert not report({name: {"kawal": [2.6]}})
    assert "NOT MET" in capsys.readouterr().out


def test_the_bars_are_those_of_the_console() -> None:
    assert MOST["first page, bytes with all it loads"] == 40_960
    assert MOST["produce p99 beside three searches, by that without"] == 1.2
    assert MOST["idle console, MB"] == 60
