"""Any damage to a small store is told or harmless: no topic, partition or record is lost or changed silently.

By default some states of each kind are tried; KAWAL_DAMAGE_STEP=1 tries all of them.
"""

from __future__ import annotations

import os

import pytest

from tests.sim.damage import End, changed, damages, made, verdict, written

STEP = int(os.environ.get("KAWAL_DAMAGE_STEP", "397"))
"""The distance between the damage states that are tried; a prime, so that bits and positions vary."""

ENDS: tuple[End, ...] = ("stopped", "killed", "killed and started")


@pytest.mark.parametrize("end", ENDS)
def test_any_damage_is_told_or_harmless(end: End) -> None:
    disk, expected = made(end)
    tried: dict[str, int] = {}
    for number, (what, damaged) in enumerate(damages(disk)):
        if number % STEP:
            continue
        try:
            outcome = verdict(damaged(), expected)
        except Exception as error:
            raise AssertionError(f"{end}, {what}: {error!r}") from error
        tried[outcome] = tried.get(outcome, 0) + 1
    assert tried.get("as it was")
    assert len(tried) > 1, tried


@pytest.mark.parametrize("end", ENDS)
def test_an_undamaged_store_is_shown_as_it_was(end: End) -> None:
    disk, expected = made(end)
    assert verdict(disk, expected) == "as it was"
    assert len(written(disk)) > 8


def test_a_change_that_nothing_notices_would_be_found() -> None:
    disk, expected = made("stopped")
    other = {**expected, ("a", 0): [b"another record"]}
    with pytest.raises(AssertionError, match="without an error"):
        verdict(changed(disk, written(disk)[0][0], bytes), other)
