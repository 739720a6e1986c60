"""Any damage to a small store is told or harmless: no topic, partition or record is lost or changed silently.

What is told can be repaired, and the server starts on the result.  By default some states of each kind are
tried; KAWAL_DAMAGE_STEP=1 tries all of them.  reliability/damage_states.py tries all in samples.
"""

from __future__ import annotations

import os

import pytest

from tests.sim.damage import End, changed, made, verdict, written
from tests.sim.damage_states import DamageStates, directory_damages, file_damages, sector_damages
from tests.sim.damage_trial import ENDS, try_all

STEP = int(os.environ.get("KAWAL_DAMAGE_STEP", "397"))
"""The distance between the damage states that are tried; a prime, so that bits and positions vary."""

WIDE_STEP = min(STEP, 29)
"""The same for sectors and files, of which there are few."""


@pytest.mark.parametrize("end", ENDS)
def test_any_damage_is_told_or_harmless_and_can_be_repaired(end: End) -> None:
    store = made(end)
    states = DamageStates(store)
    tried = try_all(store, end, (states[number] for number in range(0, len(states), STEP)))
    assert tried["as it was"]
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_sectors_and_files_that_are_stale_swapped_doubled_or_missing_are_told_or_harmless(end: End) -> None:
    store = made(end)
    states = [*file_damages(store.disk), *sector_damages(store)]
    tried = try_all(store, end, states[::WIDE_STEP])
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_a_directory_that_has_lost_all_its_files_is_told(end: End) -> None:
    store = made(end)
    tried = try_all(store, end, directory_damages(store.disk))
    assert sum(tried.values()) > 3
    assert "as it was" not in tried


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


@pytest.mark.parametrize("end", ENDS)
def test_every_bit_and_every_length_of_every_file_is_a_state_of_its_own(end: End) -> None:
    store = made(end)
    states = DamageStates(store)
    names = {states[number].what for number in range(len(states))}
    assert len(names) == len(states)
    wide = len([*sector_damages(store), *file_damages(store.disk)])
    assert len(states) == wide + sum(size * 9 for _, size in written(store.disk))
    path, size = written(store.disk)[-1]
    assert {f"{path} cut at {size - 1}", f"bit 7 of byte {size - 1} of {path}"} <= names
