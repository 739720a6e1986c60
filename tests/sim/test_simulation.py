"""Whole brokers under chance: any interleaving, any crash, and every promise is kept.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed:

    KAWAL_SIM_FIRST=4711 KAWAL_SIM_SEEDS=1 pytest tests/sim/test_simulation.py
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from tests.sim.simulation import Simulation

SEEDS = int(os.environ.get("KAWAL_SIM_SEEDS", "400"))
FIRST = int(os.environ.get("KAWAL_SIM_FIRST", "0"))
GROUPS = 8


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Silence the reports of broken disks: these tests cause a thousand of them."""
    logger = logging.getLogger("kawal")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_is_kept_whatever_happens(group: int) -> None:
    for seed in range(FIRST + group, FIRST + SEEDS, GROUPS):
        Simulation(seed).run()


@pytest.mark.parametrize("seed", [3, 14, 15])
def test_the_same_seed_gives_the_same_trace(seed: int) -> None:
    first, second = Simulation(seed), Simulation(seed)
    first.run()
    second.run()
    assert first.trace == second.trace
    assert first.history.places == second.history.places


def test_another_seed_gives_another_trace() -> None:
    one, other = Simulation(1), Simulation(2)
    one.run()
    other.run()
    assert one.trace != other.trace


def test_a_failure_names_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(7)

    def broken() -> None:
        raise AssertionError("as if a promise had been broken")

    monkeypatch.setattr(simulation, "_happen", broken)
    with pytest.raises(AssertionError, match="seed 7"):
        simulation.run()
