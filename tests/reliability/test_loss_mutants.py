"""The mutants of damage, repairs and copies are among those that are run."""

from __future__ import annotations

from reliability import loss_mutants
from reliability.mutants import MUTANTS


def test_every_mutant_of_damage_repairs_and_copies_is_run() -> None:
    assert set(loss_mutants.MUTANTS) <= set(MUTANTS)
