"""Share groups under chance: no record is lost, had by two, or counted wrongly, whatever happens.

KAWAL_SIM_SHARE_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first,
KAWAL_SIM_SHARE_STRIDE before how many disk calls the power fails once (1: before each). A failure names its
seed:

    KAWAL_SIM_FIRST=4711 KAWAL_SIM_SHARE_SEEDS=1 pytest tests/sim/test_share_simulation.py
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sim.seeds import FIRST, seed_count, seeds_of
from tests.sim.share_cases import PowerCutAtCall
from tests.sim.share_simulation import ShareSimulation

SEEDS = seed_count(48, "KAWAL_SIM_SHARE_SEEDS")
GROUPS = 4
ENOUGH = 40
"""The number of worlds in which everything happens that can happen."""

STRIDE = seed_count(8, "KAWAL_SIM_SHARE_STRIDE")
"""The power fails before every so many disk calls; 1 for all of them."""

EVENTS = (
    *("crashes", "deliveries", "redeliveries", "unread deliveries", "released", "renewed", "refused"),
    *("ended 0", "ended 1", "ended 3", "refused requests", "resets", "deletions", "letters"),
)


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_record_is_lost_or_had_by_two_or_delivered_after_its_end_whatever_happens(group: int) -> None:
    happened: Counter[str] = Counter()
    for seed in seeds_of(group, GROUPS, SEEDS):
        happened += ShareSimulation(seed).run().happened
    missing = [event for event in EVENTS if not happened[event]]
    assert SEEDS < ENOUGH or not missing, f"never happened: {missing} of {happened}"


def test_the_same_seed_gives_the_same_trace() -> None:
    assert ShareSimulation(5).run().trace == ShareSimulation(5).run().trace


@pytest.mark.parametrize("vnodes", [1, 3])
def test_a_power_cut_at_any_disk_call_leaves_what_was_answered_and_loses_no_record(vnodes: int) -> None:
    seed = FIRST + vnodes
    call = seed % STRIDE
    while not PowerCutAtCall(seed, call, vnodes=vnodes).run().is_over:
        call += STRIDE
    assert call > 30
