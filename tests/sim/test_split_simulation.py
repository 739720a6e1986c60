"""Partitions that split under chance: nothing is lost, stored twice or out of order, whatever happens.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed.
"""

from __future__ import annotations

import pytest

from tests.sim.seeds import seed_count, seeds_of
from tests.sim.split_simulation import SplitSimulation

SEEDS = seed_count(64)
GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_splits_keep_every_record_once_and_in_order_whatever_happens(group: int) -> None:
    crashes = splits = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        done = SplitSimulation(seed).run()
        crashes += done.crashes
        splits += done.splits_answered
    # Without crashes and splits nothing was tried.
    assert crashes > SEEDS // GROUPS
    assert splits > SEEDS // GROUPS


def test_the_same_seed_gives_the_same_trace() -> None:
    assert SplitSimulation(3).run().trace == SplitSimulation(3).run().trace
