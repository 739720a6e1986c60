"""Each promise of transactions has a mutant that breaks it."""

from __future__ import annotations

import pytest

from reliability.mutants import MUTANTS as ALL
from reliability.transaction_mutants import MUTANTS, SIMULATION


@pytest.mark.parametrize(
    "part", ["decision", "epoch", "fence", "overdue", "last stable", "aborted", "staged", "markers", "late"]
)
def test_each_part_of_the_protocol_is_broken_by_a_mutant(part: str) -> None:
    assert any(part in mutant.name for mutant in MUTANTS)


def test_the_script_runs_them_all_by_the_simulation_of_transactions() -> None:
    assert set(MUTANTS) <= set(ALL)
    assert all(SIMULATION in mutant.tests for mutant in MUTANTS)
