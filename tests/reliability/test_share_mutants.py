"""The mutants of share groups are among those that are run."""

from __future__ import annotations

from reliability import share_mutants
from reliability.mutants import MUTANTS


def test_every_mutant_of_share_groups_is_run() -> None:
    assert set(share_mutants.MUTANTS) <= set(MUTANTS)
