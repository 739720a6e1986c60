"""Damage states are tried a sample at a time, and the ledger knows which are left."""

from __future__ import annotations

from pathlib import Path

from reliability import ledger
from reliability.damage_states import RIG, STEP, samples_left


def noted(path: Path, rig: str, seed: int, step: int) -> None:
    ledger.append(path, commit="c", rig=rig, seed=seed, counts={"step": step, "states": 9}, anomalies={})


def test_samples_that_the_ledger_has_are_not_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    noted(path, RIG, 0, STEP)
    noted(path, RIG, 2, STEP)
    noted(path, RIG, 1, STEP - 2)
    noted(path, "kill", 1, STEP)
    assert samples_left(path.read_text().splitlines())[:3] == [1, 3, 4]


def test_without_a_ledger_all_samples_are_left() -> None:
    assert samples_left([]) == list(range(STEP))
