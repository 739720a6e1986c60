"""The report of benchmarks/bench_queues.py."""

from __future__ import annotations

import pytest

from benchmarks.bench_queues import LEAST, MOST, report

SERVERS = ["kafka", "kawal"]


def test_rates_have_a_least_ratio_and_costs_a_largest_one(capsys: pytest.CaptureFixture[str]) -> None:
    rate, cost = next(iter(LEAST)), next(iter(MOST))
    found = {
        rate: {"kafka": [10.0, 100.0, 90.0], "kawal": [180.0, 200.0, 2.0]},
        cost: {"kafka": [4.0], "kawal": [3.0]},
    }
    assert report(found, SERVERS)
    printed = capsys.readouterr().out
    assert "2.00x (at least 1.0: met)" in printed
    assert "0.75x (at most 1.0: met)" in printed
    found[rate]["kawal"] = [80.0]
    assert not report(found, SERVERS)
    assert "NOT MET" in capsys.readouterr().out
    found[rate]["kawal"], found[cost]["kawal"] = [90.0], [4.5]
    assert not report(found, SERVERS)


def test_figures_without_a_bar_or_without_kafka_are_shown_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert report({"idle, MB": {"kafka": [3.0], "kawal": [9.0]}}, SERVERS)
    assert report({next(iter(MOST)): {"kawal": [9.0]}}, ["kawal"])
    assert "at least" not in capsys.readouterr().out
