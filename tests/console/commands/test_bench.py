"""`kawal bench`."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from console.bench_load import Tally
from console.cli import main
from console.commands import bench
from tests.broker.gateway import Gateway

WORDS = ["bench", "--seconds", "0.01", "--partitions", "2", "--record-bytes", "50", "--batch-bytes", "500"]


def test_figures_and_a_verdict_are_printed(
    linked_gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(WORDS) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["PHASE", "MB/S", "RECORDS/S"]
    assert lines[3].startswith("acknowledgements (acks=all, one at a time, ")
    assert lines[4].startswith("good: every record acknowledged was read back")
    assert linked_gateway.broker.catalogue.by_name == {}


@pytest.mark.usefixtures("linked_gateway")
def test_programs_get_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["lost_records"] == 0
    assert set(tree["ack_ms"]) == {"p50", "p95", "p99", "max"}
    assert tree["produce"]["records"] + tree["ack_count"] == tree["consume"]["records"]


@pytest.mark.usefixtures("linked_gateway")
def test_lost_records_are_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "consume_all", lambda *_: None)
    assert main(WORDS) == 1
    assert "were not read back" in capsys.readouterr().out


def test_slow_acknowledgements_are_pointed_out() -> None:
    tree: dict[str, Any] = {
        "lost_records": 0,
        "consume": {"records": 1},
        "ack_ms": {"p50": 80.0},
    }
    assert "acknowledgements are slow" in bench._verdict(tree)


def test_numbers_must_be_above_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0"]) == 2
    assert "--seconds must be above 0" in capsys.readouterr().err


def test_a_terminal_sees_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with bench.progress("produce", Tally(records=1, size_bytes=2_000_000, seconds=1.0)):
        pass
    assert "produce … 2 MB/s" in capsys.readouterr().err
