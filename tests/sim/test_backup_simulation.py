"""Backups beside a broker at work: whatever it does between two steps of the copy, a start finds one state.

Records are appended, logs roll, retention deletes, topics come and go, disks fail, processes die and power is
cut while a backup is made.  KAWAL_SIM_SEEDS says how many seeds are run.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.core import Broker
from tests.sim.backup_promises import OrderedHistory, RecordsPromise, records_of
from tests.sim.backups import Backups
from tests.sim.compaction_simulation import Compacting
from tests.sim.databases_simulation import DatabasesSimulation
from tests.sim.seeds import seed_count, seeds_of
from tests.sim.simulation import Simulation

SEEDS = seed_count(8)
GROUPS = 4


class BackupSimulation(Simulation):
    """The simulation of everything, with backups in the middle of it."""

    def __init__(self, seed: int) -> None:
        history = OrderedHistory()
        super().__init__(seed, history=history)
        self.backups = Backups(
            self.world, self.chance, lambda: RecordsPromise(history).check, self._meanwhile
        )
        self._table.append((30, self.backups.step))

    def _meanwhile(self) -> None:
        """Let clients ask and be answered several times: a later record can know of an earlier one."""
        for _ in range(self.chance.choice((1, 2, 5))):
            for actor in self.actors:
                actor.step()
            self.world.advance(self.chance.choice((0, 0, 1, 5)))
            self._happen(self._exchange)

    def _check_all(self) -> None:
        super()._check_all()
        self.backups.finish()


@pytest.mark.parametrize("group", range(GROUPS))
def test_backups_keep_every_promise_whatever_happens_meanwhile(group: int) -> None:
    made = linked = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        backups = BackupSimulation(seed).run().backups
        made += backups.made
        linked += backups.linked
    # At the end of each run two are made; some must have been made beside the work, and some have links.
    assert made > 3 * len(seeds_of(group, GROUPS, SEEDS))
    assert linked


class DatabasesBackupSimulation(DatabasesSimulation):
    """Databases that are made, filled and dropped while backups are made."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.backups = Backups(self.world, self.chance, self._promise, self._meanwhile)
        self._table.append((25, self.backups.step))

    def _meanwhile(self) -> None:
        for step in (self._create, self._use, self._use, self._drop, self._advance):
            if self.chance.random() < 0.4:
                self._happen(step)
                self._happen(self._exchange)

    def _promise(self) -> Callable[[Broker], None]:
        promised = {
            name: dict(facts.acked)
            for name, facts in self.facts.items()
            if facts.created and facts.topic_made and not facts.drop_asked
        }

        def check(broker: Broker) -> None:
            for name, acked in promised.items():
                topic = broker.catalogue.by_name.get(f"t-{name}")
                if topic is None and self.facts[name].drop_asked:
                    continue
                assert topic is not None, f"t-{name} is not in the backup"
                found = records_of(broker)[topic.topic_id, 0]
                assert acked.items() <= found.items(), f"{name}: {found} for {acked}"

        return check

    def _check(self) -> None:
        super()._check()
        self.backups.finish()


@pytest.mark.parametrize("group", range(GROUPS))
def test_databases_come_and_go_while_backups_are_made(group: int) -> None:
    made = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        made += DatabasesBackupSimulation(seed).run().backups.made
    assert made > 2 * len(seeds_of(group, GROUPS, SEEDS))


class CompactingBackupSimulation(Compacting):
    """Compaction, and the removal of what it replaced, while backups are made."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.backups = Backups(self.world, self.chance, self._promise, lambda: None)
        self._table.append((10, self.backups.step))

    def _promise(self) -> Callable[[Broker], None]:
        acked = dict(self.acked)
        return lambda broker: self.check_broker(broker, acked)


@pytest.mark.parametrize("group", range(GROUPS))
def test_compaction_runs_while_backups_are_made(group: int) -> None:
    passes = made = 0
    for seed in seeds_of(group, GROUPS, SEEDS):
        simulation = CompactingBackupSimulation(seed).run()
        passes += simulation.passes
        made += simulation.backups.made
    assert passes
    assert made > len(seeds_of(group, GROUPS, SEEDS))
