"""A topic over two logs with records whose keys get new partitions, and the power fails in between.

BarrierSimulation(seed, calls).run()    the power fails before the disk call of that number; AssertionError
                                        when a promise of tests/sim/split_simulation.py is broken

Producers have several batches on their way, which are in one log before and in the other after.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.sim.scenario import Step
from tests.sim.split_simulation import KEYS_EACH, SplitSimulation, Writer

MIXED_STEPS = 60


class BarrierSimulation(SplitSimulation):
    """One broker with two logs, one topic of two partitions, the barrier, and one power failure."""

    def __init__(self, seed: int, calls: int, *, how: str = "power") -> None:
        super().__init__(seed)
        self.calls = calls
        self.how = how
        self.begins_late, self.roots = True, 2
        for writer in self.writers:
            writer.partition = writer.number % 2
        self.was_renewed = False

    def _world_settings(self) -> dict[str, Any]:
        return {"kawal_vnodes": 2}

    def _happen_by_chance(self) -> None:
        for writer in self.writers:
            self._happen(partial(self._send_new, writer))
        self._happen(self._exchange)
        if self.how == "power":
            self.world.calls_until_cut = self.calls
        steps: list[Step] = [partial(self._send_new, writer) for writer in self.writers for _ in range(3)]
        self.chance.shuffle(steps)
        steps.insert(self.chance.randrange(len(steps)), self._begin_to_choose)
        for number, step in enumerate(steps):
            if self.how == "failure" and number == self.calls:
                self.world.break_next("sync")
            self._happen(step)
            self._happen(self._push_some)
            if self.chance.random() < 0.3:
                self._happen(self._work)
        for _ in range(MIXED_STEPS):
            self._happen(self.chance.choice((self._push_some, self._pull_some, self._work, self._work)))

    def _send_new(self, writer: Writer) -> str:
        first = writer.number * KEYS_EACH
        if writer.due is None and (writer.is_idempotent or not writer.unsure):
            writer.make([first + self.chance.randrange(KEYS_EACH) for _ in range(self.chance.randint(1, 3))])
        return self._send_from(writer) if writer.due is not None else f"writer {writer.number} waits"

    def check(self) -> None:
        """Note whether the topic has successors."""
        super().check()
        tree = self.world.broker.find_topic("t").tree
        self.was_renewed = tree is not None and bool(tree.successions)
