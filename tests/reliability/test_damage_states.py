"""Damage states are tried a sample at a time, and the ledger knows which are left."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from reliability import ledger
from reliability.damage_states import RIG, STEP, samples_left, share, try_full_stores, try_sample
from tests.sim.damage import made


def noted(path: Path, rig: str, seed: int, step: int, **anomalies: int) -> None:
    counts = {"step": step, "states": 9}
    ledger.append(path, commit="c", rig=rig, seed=seed, counts=counts, anomalies=anomalies)


def test_samples_that_the_ledger_has_are_not_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    noted(path, RIG, 0, STEP)
    noted(path, RIG, 2, STEP)
    noted(path, RIG, 1, STEP - 2)
    noted(path, "kill", 1, STEP)
    assert samples_left(path.read_text().splitlines())[:3] == [1, 3, 4]


def test_a_sample_with_a_finding_is_tried_again_until_a_run_has_none(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    noted(path, RIG, 0, STEP, told=1)
    assert samples_left(path.read_text().splitlines())[:2] == [0, 1]
    noted(path, RIG, 0, STEP)
    assert samples_left(path.read_text().splitlines())[:2] == [1, 2]


def test_without_a_ledger_all_samples_are_left() -> None:
    assert samples_left([]) == list(range(STEP))


def test_a_state_that_is_neither_told_nor_harmless_is_named_and_the_sample_goes_on() -> None:
    store = made("killed")
    untrue = store._replace(expected={**store.expected, ("a", 0): [b"another record"]})
    tried, wrong = try_sample({"killed": untrue}, STEP - 3, step=STEP * 59)
    assert len(wrong) > 1
    assert tried > len(wrong)
    assert all(said.startswith("killed, ") for said in wrong)


def test_a_share_is_one_of_several_runs() -> None:
    assert share("2/3") == (2, 3)
    for wrong in ("0/2", "3/2", "1", "a/b", "1/2/3"):
        with pytest.raises(ArgumentTypeError, match="from 1 to N"):
            share(wrong)


def test_every_so_many_states_of_all_full_stores_are_tried_as_long_as_there_is_time() -> None:
    assert try_full_stores(5, 400_000, 60.0) == (6, [])
    assert try_full_stores(5, 400_000, 0.0) == (0, [])
