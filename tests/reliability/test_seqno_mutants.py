"""The mutants of named producers are among those that are run."""

from __future__ import annotations

from reliability import seqno_mutants
from reliability.mutants import MUTANTS


def test_every_mutant_of_named_producers_is_run() -> None:
    assert set(seqno_mutants.MUTANTS) <= set(MUTANTS)
