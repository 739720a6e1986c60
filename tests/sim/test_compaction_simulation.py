"""Compaction under chance: the last record of each key is kept.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed.
"""

from __future__ import annotations

import pytest

from tests.sim.compaction_simulation import Compacting
from tests.sim.seeds import seed_count, seeds_of

SEEDS = seed_count(40)
GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_last_record_of_each_key_survives_whatever_happens(group: int) -> None:
    passes = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        passes += Compacting(seed).run().passes
    # A disk that is full for most of a run lets no pass begin.
    assert passes >= SEEDS // GROUPS - 1, f"only {passes} passes came to an end"
