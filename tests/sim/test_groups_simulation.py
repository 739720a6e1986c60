"""The group coordinator under lossy links, pauses, crashes, failing disks and clock jumps.

KAWAL_SIM_SEEDS says how many worlds are simulated (default 300, some 15 ms each); KAWAL_SIM_FIRST_SEED
where to begin. A failure names its seed, which `run(seed)` repeats exactly.
"""

from __future__ import annotations

import os

import pytest

from tests.sim.groups_simulation import run

SEEDS = int(os.environ.get("KAWAL_SIM_SEEDS", "300"))
FIRST_SEED = int(os.environ.get("KAWAL_SIM_FIRST_SEED", "0"))
PER_TEST = 100


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, PER_TEST))
def test_no_world_breaks_an_invariant_of_groups(first: int) -> None:
    acknowledged = 0
    for seed in range(first, min(first + PER_TEST, FIRST_SEED + SEEDS)):
        try:
            acknowledged += run(seed).acknowledged_count
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert acknowledged, "nobody got to commit anything"


def test_a_seed_repeats_its_world_exactly() -> None:
    first, second = run(7), run(7)
    assert first.world.log == second.world.log
    assert first.world.now_ms == second.world.now_ms
    assert any(first.world.log.values())


def test_worlds_differ_in_what_happens() -> None:
    histories = [run(seed) for seed in range(40)]
    assert any(history.world.restarts for history in histories)
    assert any(history.refused_count for history in histories)
    assert len({str(history.world.log) for history in histories}) == len(histories)
