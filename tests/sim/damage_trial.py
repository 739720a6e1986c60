"""Trials of damage states of a small store: each must be told or harmless, and what is told be repaired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.sim.damage import End, Made, verdict
from tests.sim.damage_states import State
from tests.sim.repaired import repaired
from wal.memory_image import KEEP_ALL

ENDS: tuple[End, ...] = ("stopped", "killed", "killed and started")


def try_all(store: Made, end: End, states: Iterable[State]) -> Counter[str]:
    """Try states, and the repair of those that are told; return how often each outcome came.

    Raises: AssertionError, which names the state, when one is neither told nor harmless.
    """
    tried: Counter[str] = Counter()
    for what, damaged in states:
        try:
            disk = damaged()
            outcome = verdict(disk.crash(KEEP_ALL), store.expected)
            if outcome != "as it was":
                outcome += f", {repaired(disk, store.expected, damaged=what)}"
        except Exception as error:
            raise AssertionError(f"{end}, {what}: {error!r}") from error
        tried[outcome] += 1
    return tried
