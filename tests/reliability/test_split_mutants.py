"""The mutants of partitions that split are among those that are run."""

from __future__ import annotations

from reliability import split_mutants
from reliability.mutants import MUTANTS


def test_every_mutant_of_splits_is_run() -> None:
    assert set(split_mutants.MUTANTS) <= set(MUTANTS)
