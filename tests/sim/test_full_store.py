"""Damage to a store with groups, ids, named producers, splits and transactions is told or harmless.

What is told is repaired, and then nothing untrue is told, nor an id given out again.  KAWAL_FULL_DAMAGE_STEP
is the distance of the states that are tried; `python -m reliability.damage_states --full STEP` does the same.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.sim.damage import End, changed, written
from tests.sim.damage_states import DamageStates, file_damages
from tests.sim.damage_trial import ENDS
from tests.sim.full_store import UNKNOWN, full_repair, full_verdict, made_full, try_full

STEP = int(os.environ.get("KAWAL_FULL_DAMAGE_STEP", "9973"))
"""A prime, so that bits and positions vary."""


@pytest.mark.parametrize("end", ENDS)
def test_any_damage_to_a_full_store_is_told_or_harmless_and_can_be_repaired(end: End) -> None:
    store = made_full(end)
    states = DamageStates(store)
    tried = Counter(try_full(store, states[number]) for number in range(0, len(states), STEP))
    assert tried["as it was"]
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_files_of_a_full_store_that_are_missing_doubled_or_swapped_are_told_or_harmless(end: End) -> None:
    store = made_full(end)
    states = list(file_damages(store.disk))
    tried = Counter(try_full(store, state) for state in states[:: min(STEP, 7)])
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_an_undamaged_full_store_tells_all_that_it_told(end: End) -> None:
    store = made_full(end)
    assert full_verdict(store.disk, store.expected).outcome == "as it was"
    kinds = {fact[0] for fact in store.expected}
    assert kinds == {"record", "end", "group", "name", "id", "place"}


@pytest.mark.parametrize("kind", ["record", "end", "group", "name", "id", "place"])
def test_a_fact_that_changes_without_an_error_would_be_found(kind: str) -> None:
    store = made_full("stopped")
    fact = next(fact for fact in store.expected if fact[0] == kind)
    value = store.expected[fact]
    other = (0, 99, 0, -1) if kind == "id" else b"another" if kind == "record" else value + 1
    with pytest.raises(AssertionError, match=r"is .* instead of"):
        full_verdict(store.disk, {**store.expected, fact: other})


def test_a_fact_that_a_repair_changes_would_be_found() -> None:
    store = made_full("killed")
    path, _ = written(store.disk)[0]
    fact = next(fact for fact in store.expected if fact[0] == "record")
    with pytest.raises(AssertionError, match="after the repair"):
        full_repair(changed(store.disk, path, bytes), {**store.expected, fact: b"another"}, damaged=path)
    assert store.expected[fact] != UNKNOWN
