"""Every mutant still fits the code that it breaks, and names tests that are there."""

from __future__ import annotations

import pytest

from reliability.mutant import Mutant
from reliability.mutants import MUTANTS, ROOT, is_in_place


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_of_its_file(mutant: Mutant) -> None:
    assert is_in_place(mutant)
    assert mutant.old != mutant.new
    assert all((ROOT / test.partition("::")[0]).is_file() for test in mutant.tests)


def test_names_are_unique_and_there_are_enough_of_them() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25
