"""The form of a mutant: one text of one file, replaced by another."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One patch: `old`, which occurs once in `path`, becomes `new`, and one of `tests` must fail."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
