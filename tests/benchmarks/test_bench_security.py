"""The report of benchmarks/bench_security.py."""

from __future__ import annotations

import pytest

from benchmarks.bench_security import PARTS, report

SERVERS = ["kafka", "kawal"]


def test_what_rules_cost_is_judged_by_the_median(capsys: pytest.CaptureFixture[str]) -> None:
    name = "gate produce, 1 partitions, processor with rules by none"
    found = {name: {"kafka": [2.0], "kawal": [1.9, 1.02, 1.0]}}
    assert report(found, SERVERS)
    assert "(at most 1.03: met)" in capsys.readouterr().out
    found[name]["kawal"] = [1.04]
    assert not report(found, SERVERS)
    assert "NOT MET" in capsys.readouterr().out


def test_other_figures_are_shown_beside_kafkas(capsys: pytest.CaptureFixture[str]) -> None:
    assert report({"TLS, MB/s": {"kafka": [2.0], "kawal": [9.0]}}, SERVERS)
    shown = capsys.readouterr().out
    assert "4.50x" in shown
    assert "at most" not in shown


def test_every_part_of_a_server_can_be_chosen() -> None:
    assert set(PARTS) == {"tls", "handshakes", "idle"}
