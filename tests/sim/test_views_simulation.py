"""Whole brokers with views under chance: crashes lose none, and every reader sees what its source holds.

KAWAL_SIM_VIEW_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.sim.seeds import seed_count, seeds_of
from tests.sim.simulation import Simulation
from tests.sim.view_actors import ViewAdmin, ViewFacts, ViewReader

SEEDS = seed_count(32, "KAWAL_SIM_VIEW_SEEDS")
GROUPS = 4
ROUNDS = 40


class ViewsSimulation(Simulation):
    """The same world, with an actor that makes views and two that read them."""

    def __init__(self, seed: int, *, steps: int = 400) -> None:
        super().__init__(seed, steps=steps)
        parts = (self.world, self.history, self.chance)
        self.view_admin = ViewAdmin(*parts, "v0")
        self.readers = [
            ViewReader(*parts, f"r{number}", self.view_admin, named=bool(number)) for number in (0, 1)
        ]
        self.actors += [self.view_admin, self.view_admin, *self.readers, *self.readers]
        self._table.append((25, self._slice))

    def _slice(self) -> str:
        pending = self.world.broker.scheduler.pending
        self.world.broker.scheduler.run()
        return f"a slice: {pending}"

    def _check_all(self) -> None:
        super()._check_all()
        there = {key: topic for key, topic in self.world.broker.catalogue.by_id.items() if topic.view}
        for topic_id, facts in self.view_admin.views.items():
            if facts.dropped:
                assert topic_id not in there, f"{facts.name} is back after it was dropped"
            elif not facts.drop_asked:
                assert topic_id in there, f"{facts.name} is lost"
            if topic_id in there:
                count = there[topic_id].partition_count
                source = self.world.broker.catalogue.by_id[facts.source_id]
                assert count == source.partition_count, f"{facts.name} has not grown with its source"
                for index in range(count):
                    self._read_to_the_end(topic_id, facts, index)

    def _read_to_the_end(self, topic_id: UUID, facts: ViewFacts, index: int) -> None:
        reader = ViewReader(self.world, self.history, self.chance, "end", self.view_admin, named=True)
        marks = self.history.marks_of(topic_id, index)
        key = (topic_id, index)
        reader.positions[key] = marks.log_start
        for _ in range(ROUNDS * (1 + marks.high_watermark)):
            if reader.positions[key] >= marks.high_watermark:
                break
            reader.fetch(topic_id, facts, index, max_wait_ms=0)
            self._exchange()
        assert reader.positions[key] == marks.high_watermark, f"{facts}: the end cannot be reached"
        assert reader.link is None or reader.link.is_open
        if reader.link is not None:
            reader.link.close()


@pytest.mark.parametrize("group", range(GROUPS))
def test_views_keep_every_promise_whatever_happens(group: int) -> None:
    for seed in seeds_of(group, GROUPS, SEEDS):
        ViewsSimulation(seed).run()


def test_the_same_seed_gives_the_same_trace() -> None:
    assert ViewsSimulation(5).run().trace == ViewsSimulation(5).run().trace


def test_views_are_made_and_read_in_these_runs() -> None:
    made, read = 0, 0
    for seed in range(12):
        simulation = ViewsSimulation(seed).run()
        made += len(simulation.view_admin.views)
        read += sum(sum(reader.positions.values()) for reader in simulation.readers)
    assert made > 10
    assert read > 50
