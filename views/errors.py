"""The errors of views: one tree, each error with a sentence for the view's author.

    ViewError
    ├── SyntaxProblem    the text is not a statement of the language
    ├── NotAllowed       SQL, but not what a view can do: aggregates, joins, ORDER BY, unknown functions
    ├── UnknownColumn    a column that the source does not declare
    ├── TypeProblem      an operator or function does not take values of these types
    ├── ColumnsProblem   the text of `kawal.columns` is wrong
    └── TooComplex       the statement is longer, deeper or costlier than allowed

They are raised when a view is created, never when it is read: a record that cannot be evaluated is counted.
"""

from __future__ import annotations


class ViewError(Exception):
    """The base of everything `views` raises on purpose; `problem` is a sentence that names the part."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class SyntaxProblem(ViewError):
    """Text that is not a statement of the language."""


class NotAllowed(ViewError):
    """A part of SQL that a view cannot have, because a view has one record for each record, or none."""


class UnknownColumn(ViewError):
    """A column that the source does not declare, and that not every record has."""


class TypeProblem(ViewError):
    """Values of a type that an operator, function or clause does not take."""


class ColumnsProblem(ViewError):
    """A declaration of columns that cannot be used."""


class TooComplex(ViewError):
    """A statement beyond the bounds that keep every view cheap to parse and to evaluate."""
