"""Any damage to a small store is told or harmless: no topic, partition or record is lost or changed silently.

What is told can be repaired, and the server starts on the result.  By default some states of each kind are
tried; KAWAL_DAMAGE_STEP=1 tries all of them, KAWAL_DAMAGE_FIRST=n begins with the n-th: the numbers below a
step, one after the other, try all of them in samples that are spread evenly. reliability/damage_states.py
does so; the number of states tried is added to the file KAWAL_DAMAGE_COUNTS, if that is set.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import pytest

from tests.sim.damage import (
    Damages,
    End,
    Made,
    changed,
    damages,
    file_damages,
    made,
    sector_damages,
    verdict,
    written,
)
from tests.sim.repaired import repaired
from wal.memory_image import KEEP_ALL

STEP = int(os.environ.get("KAWAL_DAMAGE_STEP", "397"))
"""The distance between the damage states that are tried; a prime, so that bits and positions vary."""

FIRST = int(os.environ.get("KAWAL_DAMAGE_FIRST", "0"))

WIDE_STEP = min(STEP, 29)
"""The same for sectors and files, of which there are few."""

COUNTS = os.environ.get("KAWAL_DAMAGE_COUNTS", "")

ENDS: tuple[End, ...] = ("stopped", "killed", "killed and started")


def try_all(store: Made, end: str, states: Damages, step: int) -> dict[str, int]:
    """Try every `step`-th state, and its repair; return how often each outcome came."""
    tried: dict[str, int] = {}
    for number, (what, damaged) in enumerate(states):
        if number < FIRST or (number - FIRST) % step:
            continue
        try:
            disk = damaged()
            outcome = verdict(disk.crash(KEEP_ALL), store.expected)
            if outcome != "as it was":
                outcome += f", {repaired(disk, store.expected, damaged=what)}"
        except Exception as error:
            raise AssertionError(f"{end}, {what}: {error!r}") from error
        tried[outcome] = tried.get(outcome, 0) + 1
    if COUNTS:
        with Path(COUNTS).open("a") as file:
            file.write(f"{sum(tried.values())}\n")
    return tried


@pytest.mark.parametrize("end", ENDS)
def test_any_damage_is_told_or_harmless_and_can_be_repaired(end: End) -> None:
    store = made(end)
    tried = try_all(store, end, damages(store), STEP)
    assert tried.get("as it was")
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_sectors_and_files_that_are_stale_swapped_doubled_or_missing_are_told_or_harmless(end: End) -> None:
    store = made(end)
    tried = try_all(store, end, chain(file_damages(store.disk), sector_damages(store)), WIDE_STEP)
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_an_undamaged_store_is_shown_as_it_was(end: End) -> None:
    store = made(end)
    assert verdict(store.disk, store.expected) == "as it was"
    assert len(written(store.disk)) > 8


def test_a_change_that_nothing_notices_would_be_found() -> None:
    store = made("stopped")
    other = {**store.expected, ("a", 0): [b"another record"]}
    with pytest.raises(AssertionError, match="without an error"):
        verdict(changed(store.disk, written(store.disk)[0][0], bytes), other)
