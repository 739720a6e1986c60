"""Groups and transactions over partitions that split: order and atomicity hold, whatever happens.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed.
"""

from __future__ import annotations

import pytest

from tests.sim.seeds import seed_count, seeds_of
from tests.sim.split_groups_simulation import SplitGroupsSimulation

SEEDS = seed_count(48)
GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_groups_read_keys_in_order_and_transactions_whole_over_splits(group: int) -> None:
    lives = committed_ones = splits = renewals = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        done = SplitGroupsSimulation(seed).run()
        lives += sum(reader.lives for reader in done.readers)
        committed_ones += done.history.counts["committed"]
        splits += done.splits_answered
        tree = done.world.broker.find_topic("t").tree
        renewals += tree is not None and bool(tree.successions)
    # Without deaths, commits, splits and successors nothing was tried.
    count = SEEDS // GROUPS
    assert lives > 6 * count
    assert committed_ones > count // 2
    assert splits > count
    assert renewals or count < 8


def test_the_same_seed_gives_the_same_trace() -> None:
    assert SplitGroupsSimulation(1).run().trace == SplitGroupsSimulation(1).run().trace
