"""Nodes of a cluster that have not told their part of an answer: they are named, and the exit code tells."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from console.errors import FAILED, OK, CommandError


def missing(nodes: Iterable[int]) -> str:
    """Return the sentence about nodes that have not answered, "" if all have."""
    silent = sorted(set(nodes))
    if not silent:
        return ""
    if len(silent) == 1:
        return f"node {silent[0]} has not answered: what it knows is missing"
    ids = ", ".join(map(str, silent[:-1]))
    return f"nodes {ids} and {silent[-1]} have not answered: what they know is missing"


def told_of(nodes: Iterable[int]) -> int:
    """Print the sentence, if there is one, to standard error; return the exit code of the command."""
    if sentence := missing(nodes):
        print(sentence, file=sys.stderr)
        return FAILED
    return OK


def check_whole(nodes: Iterable[int]) -> None:
    """Refuse an answer that is not whole, where a part would be taken for all.  Raises: CommandError."""
    if sentence := missing(nodes):
        raise CommandError(sentence)
