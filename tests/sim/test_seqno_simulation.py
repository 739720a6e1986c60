"""Named producers under chance: nothing acknowledged is lost, nothing is stored twice, no number goes back.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed.
"""

from __future__ import annotations

import pytest

from tests.sim.seeds import seed_count, seeds_of
from tests.sim.seqno_simulation import SeqnoSimulation

SEEDS = seed_count(96)
GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_named_producers_keep_their_numbers_whatever_happens(group: int) -> None:
    crashes = repeated = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        done = SeqnoSimulation(seed).run()
        crashes += done.crashes
        repeated += done.repeated
    # Without crashes and repetitions nothing was tried.
    assert crashes > SEEDS // GROUPS
    assert repeated > SEEDS // GROUPS


def test_the_same_seed_gives_the_same_trace() -> None:
    assert SeqnoSimulation(3).run().trace == SeqnoSimulation(3).run().trace
