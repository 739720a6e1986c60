"""Several nodes over one store: nothing is lost or doubled across them, whatever is taken over when."""

from __future__ import annotations

import os

import pytest

from tests.sim.nodes_simulation import NodesWorld

SEEDS = int(os.environ.get("KAWAL_SIM_NODES_SEEDS", "6"))
STEPS = 400


def run(world: NodesWorld) -> NodesWorld:
    """Take all steps, and look at the store again and again."""
    for number in range(STEPS):
        world.step()
        if number % 50 == 49:
            world.check()
    world.end()
    return world


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_was_acknowledged_is_there_across_nodes_after_any_take_over(seed: int) -> None:
    run(NodesWorld(seed))
