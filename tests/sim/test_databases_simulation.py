"""Databases under chance; KAWAL_SIM_SEEDS and KAWAL_SIM_FIRST as in test_simulation.py, an eighth of them."""

from __future__ import annotations

import pytest

from tests.sim.databases_simulation import DatabasesSimulation
from tests.sim.seeds import seed_count, seeds_of

SEEDS = seed_count(400) // 8
GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_about_databases_is_kept_whatever_happens(group: int) -> None:
    for seed in seeds_of(group, GROUPS, SEEDS):
        DatabasesSimulation(seed).run()


def test_the_same_seed_gives_the_same_trace() -> None:
    assert DatabasesSimulation(7).run().trace == DatabasesSimulation(7).run().trace
