"""The report of benchmarks/bench_transactions.py."""

from __future__ import annotations

import pytest

from benchmarks.bench_transactions import BARS, report

SERVERS = ["kafka", "kawal"]


def test_a_ratio_is_that_of_the_medians_and_judged_by_its_bar(capsys: pytest.CaptureFixture[str]) -> None:
    name = next(iter(BARS))
    found = {name: {"kafka": [10.0, 100.0, 90.0], "kawal": [180.0, 200.0, 2.0]}}
    assert report(found, SERVERS)
    assert "2.00x (at least 1.5: met)" in capsys.readouterr().out
    found[name]["kawal"] = [100.0]
    assert not report(found, SERVERS)
    assert "NOT MET" in capsys.readouterr().out


def test_figures_without_a_bar_or_without_kafka_are_shown_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert report({"ids, MB": {"kafka": [3.0], "kawal": [9.0]}}, SERVERS)
    assert report({"ids, MB": {"kawal": [9.0]}}, ["kawal"])
    assert "at least" not in capsys.readouterr().out
