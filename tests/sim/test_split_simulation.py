"""Partitions that split under chance: nothing is lost, stored twice or out of order, whatever happens.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed.
"""

from __future__ import annotations

import pytest

from tests.sim.barrier_simulation import BarrierSimulation
from tests.sim.seeds import seed_count, seeds_of
from tests.sim.split_simulation import SplitSimulation

SEEDS = seed_count(64)
GROUPS = 4

BARRIER_SEEDS = max(4, SEEDS // 8)
CALLS = {"power": 30, "failure": 13}
"""The places at which a barrier is broken: before so many disk calls, or after so many requests."""


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


@pytest.mark.parametrize("how", ["power", "failure"])
def test_a_barrier_over_two_logs_loses_repeats_and_reorders_nothing_wherever_it_is_broken(how: str) -> None:
    renewed = crashes = 0
    for seed in range(BARRIER_SEEDS):
        for calls in range(CALLS[how]):
            done = BarrierSimulation(seed, calls, how=how).run()
            renewed += done.was_renewed
            crashes += done.crashes > 1
    count = BARRIER_SEEDS * CALLS[how]
    assert renewed > count // 4
    assert renewed < count or how == "failure", "no power failure came before the barrier was durable"
