"""Whole brokers under chance: any interleaving, any crash, and every promise is kept.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed:

    KAWAL_SIM_FIRST=4711 KAWAL_SIM_SEEDS=1 pytest tests/sim/test_simulation.py
"""

from __future__ import annotations

import pytest

from tests.sim.scenario import Step
from tests.sim.seeds import seed_count, seeds_of
from tests.sim.simulation import Simulation

SEEDS = seed_count(400)
GROUPS = 8


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_is_kept_whatever_happens(group: int) -> None:
    for seed in seeds_of(group, GROUPS, SEEDS):
        Simulation(seed).run()


@pytest.mark.parametrize("seed", [3, 14, 15])
def test_the_same_seed_gives_the_same_trace(seed: int) -> None:
    first, second = Simulation(seed).run(), Simulation(seed).run()
    assert first.trace == second.trace
    assert first.history.places == second.history.places


def test_another_seed_gives_another_trace() -> None:
    assert Simulation(1).run().trace != Simulation(2).run().trace


def test_a_failure_names_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(7)

    def broken(_step: Step) -> None:
        raise AssertionError("as if a promise had been broken")

    monkeypatch.setattr(simulation, "_happen", broken)
    with pytest.raises(AssertionError, match=r"seed 7: .*as if a promise had been broken"):
        simulation.run()
