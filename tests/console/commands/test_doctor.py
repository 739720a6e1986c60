"""`kawal doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli import main
from console.commands import doctor
from tests.console.doctor.machine import FakeFacts


def test_all_is_well_on_a_good_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "Facts", FakeFacts)
    assert main(["doctor", "--data", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no problems"


def test_a_problem_ends_with_1_and_is_in_the_tree(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "Facts", lambda: FakeFacts(wall_seconds=0))
    words = ["doctor", "--data", str(tmp_path / "new"), "--set", "log.flush.interval.ms=5", "--json"]
    assert main(words) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["verdict"] == "problem"
    assert {found["check"] for found in shown["findings"] if found["verdict"] == "warning"} == {
        "configuration"
    }


def test_a_configuration_that_cannot_be_used_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--set", "num.partition=3"]) == 1
    assert "num.partitions" in capsys.readouterr().err
