"""Whatever happens to nodes, leaders keep what an important group has not committed at its coordinator."""

from __future__ import annotations

from random import Random

import pytest

from tests.broker.cluster import LATE, REPEATED, UNANSWERED, UNSENT
from tests.broker.groups import commit, committed
from tests.broker.kit import batch, send
from tests.broker.upkeep.holding_nodes import Holding
from tests.broker.upkeep.holds import INTERVAL_MS

STEPS = 60


class World:
    """Nodes, an important group and another one, and what the important one has been told it committed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.nodes = Holding(self.random.choice((2, 3)), own_directories=self.random.random() < 0.5)
        self.nodes.hold(important="true", important_topics="t")
        self.committed = dict.fromkeys(self.nodes.indexes(), 0)

    def leader_is_well(self, index: int) -> bool:
        return self.nodes.leader_of(index) not in self.nodes.down | self.nodes.hung

    def append(self) -> None:
        index = self.random.choice([*self.committed])
        if self.leader_is_well(index):
            node = self.nodes[self.nodes.leader_of(index)]
            data = batch(b"v" * 100, timestamp_ms=node.now_ms)
            assert send(node.client(), "t", data, index).error_code == 0

    def commit(self) -> None:
        """Commit some offset, maybe below the last one, from the log start on."""
        index = self.random.choice([*self.committed])
        group = self.random.choice(("g", "g", "other"))
        coordinator = self.nodes.coordinator_of(group)
        if coordinator in self.nodes.down | self.nodes.hung or not self.leader_is_well(index):
            return
        partition = self.nodes[self.nodes.leader_of(index)].partition("t", index)
        offset = self.random.randint(partition.log_start, partition.high_watermark)
        commit(self.nodes[coordinator].client(), group, ("t", index, offset))
        if group == "g":
            self.committed[index] = offset

    def harm(self) -> None:
        nodes, random = self.nodes, self.random
        number = random.randrange(nodes.count)
        match random.choice(("kill", "hang", "cut", "mishaps")):
            case "kill" if number not in nodes.down | nodes.hung:
                nodes.kill(number)
            case "hang" if number not in nodes.down | nodes.hung:
                nodes.hung.add(number)
            case "cut":
                nodes.cut.add(frozenset(random.sample(range(nodes.count), 2)))
            case _:
                nodes.mishaps.extend(random.choices((UNSENT, UNANSWERED, REPEATED, LATE, ""), k=5))

    def mend(self) -> None:
        nodes = self.nodes
        nodes.cut.clear()
        nodes.mishaps.clear()
        for number in sorted(nodes.hung):
            nodes.wake(number)
        for number in sorted(nodes.down):
            nodes.revive(number)
        nodes.pass_time(1_000)

    def check(self) -> None:
        for index, offset in self.committed.items():
            if self.leader_is_well(index):
                assert self.nodes.start(index) <= offset, index

    def step(self) -> None:
        chosen = self.random.random()
        if chosen < 0.35:
            self.append()
        elif chosen < 0.6:
            self.commit()
        elif chosen < 0.7:
            self.harm()
        elif chosen < 0.78:
            self.mend()
        else:
            self.nodes.pass_time(self.random.choice((1_000, 4_000, 2 * INTERVAL_MS)))
        self.check()


@pytest.mark.parametrize("seed", range(12))
def test_no_leader_passes_what_the_group_has_committed_and_all_reach_it_in_the_end(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.mend()
    nodes = world.nodes
    for _ in range(4):
        # A node that was away for long may have to learn of others first.
        nodes.pass_time(30_000)
        world.check()
    assert (
        committed(nodes.client_of_group(), "g").items()
        <= {("t", index): offset for index, offset in world.committed.items()}.items()
    )
    for index, offset in world.committed.items():
        assert nodes.start(index) == offset, index
