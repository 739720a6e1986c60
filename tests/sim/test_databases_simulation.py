"""Databases under chance; KAWAL_SIM_SEEDS and KAWAL_SIM_FIRST as in test_simulation.py, an eighth of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from tests.sim.databases_simulation import DatabasesSimulation

SEEDS = int(os.environ.get("KAWAL_SIM_SEEDS", "400")) // 8
FIRST = int(os.environ.get("KAWAL_SIM_FIRST", "0"))
GROUPS = 4


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("kawal")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_about_databases_is_kept_whatever_happens(group: int) -> None:
    for seed in range(FIRST + group, FIRST + SEEDS, GROUPS):
        DatabasesSimulation(seed).run()


def test_the_same_seed_gives_the_same_trace() -> None:
    first, second = DatabasesSimulation(7), DatabasesSimulation(7)
    first.run()
    second.run()
    assert first.trace == second.trace
