"""The tree of errors: catching ViewError catches them all, each with a sentence to show."""

from __future__ import annotations

import inspect

import pytest

from views import errors


@pytest.mark.parametrize(
    "name", ["SyntaxProblem", "NotAllowed", "UnknownColumn", "TypeProblem", "ColumnsProblem", "TooComplex"]
)
def test_every_error_is_a_view_error_with_its_sentence(name: str) -> None:
    error = getattr(errors, name)("column 'x' is unknown")
    assert isinstance(error, errors.ViewError)
    assert error.problem == str(error) == "column 'x' is unknown"


def test_the_tree_in_the_docstring_is_the_whole_tree() -> None:
    classes = [name for name, _ in inspect.getmembers(errors, inspect.isclass)]
    assert errors.__doc__ is not None
    assert [name for name in classes if name not in errors.__doc__] == []
