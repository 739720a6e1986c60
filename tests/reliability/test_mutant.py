"""A mutant is a name, a place, two texts and the tests that must see it."""

from __future__ import annotations

from reliability.mutant import Mutant


def test_a_mutant_names_its_tests_last() -> None:
    mutant = Mutant("name", "path.py", "old", "new", ("tests/a.py",))
    assert mutant.tests == ("tests/a.py",)
    assert mutant._fields == ("name", "path", "old", "new", "tests")
