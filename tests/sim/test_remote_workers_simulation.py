"""The copies of two workers of one directory, under chance, and restores that make one directory of them.

As tests/sim/test_remote_simulation.py, with lost, late and refused requests, killed processes and power
failures.  After each step a restore, where one is possible, must have of each worker every record that was
durable when its last complete round began, and none that was never durable; and any number of workers finds
the same there.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.sim.test_remote_simulation import FAULTS
from tests.wal.remote.copies import bodies
from tests.wal.remote.workers import Worker, all_restored, found_in, workers_over
from wal.backup_manifest import BackupError
from wal.errors import OtherWorkers
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, ObjectStoreError
from wal.store_marker import MARKER, marker_workers
from wal.tiered_workers import refuse_other_workers

SEEDS = int(os.environ.get("KAWAL_SIM_REMOTE_SEEDS", "60")) // 2
STEPS = 60
COUNT = 2


class World:
    """One data directory, the processes of its workers, and the store."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fault_rate = 0.0
        self.objects = MemoryObjects(self._fault)
        self.workers = workers_over(self.objects)
        self.old: list[Worker] = []
        self.written: list[list[bytes]] = [[] for _ in range(COUNT)]
        self.covered = [0] * COUNT
        """Of each worker, the records that were durable when its last complete round began."""
        self.is_complete = [False] * COUNT
        self.is_away = False
        """Whether a segment has left the disk."""

    def _fault(self, _call: ObjectCall) -> ObjectFault | None:
        return self.random.choice(FAULTS) if self.random.random() < self.fault_rate else None

    def step(self) -> None:
        """Have one thing happen to one of the workers, or to both."""
        worker = self.random.choice(self.workers)
        action = self.random.choice(
            [self.append, self.append, self.round, self.round, self.round, self.land, self.kill, self.clean,
             self.of_an_old_process, self.tier, self.read]
        )  # fmt: skip
        self.fault_rate = self.random.choice([0.0, 0.1, 0.4])
        action(worker)
        self.fault_rate = 0.0

    def append(self, worker: Worker) -> None:
        """Write some batches, which are durable then."""
        written = self.written[worker.number]
        for _ in range(self.random.randrange(1, 5)):
            body = b"%d-%d " % (worker.number, len(written))
            body += b"x" * self.random.choice([10, 5_000, 30_000])
            worker.append(body)
            written.append(body)

    def round(self, worker: Worker) -> None:
        """Upload, all or a part."""
        durable = len(self.written[worker.number])
        try:
            missing = worker.round(budget_bytes=self.random.choice([1, 1 << 30])).segments_missing
        except (Fenced, OtherWorkers):
            raise  # the newest process never is, and there are no others
        except ObjectStoreError:
            return
        if not missing:
            self.covered[worker.number], self.is_complete[worker.number] = durable, True

    def land(self, _worker: Worker) -> None:
        """Let a request arrive that was given up."""
        if self.objects.late_count:
            self.objects.land_late(self.random.randrange(self.objects.late_count))

    def tier(self, worker: Worker) -> None:
        """Let segments leave the disk that the store has."""
        if worker.uploader.cut is None:
            return
        if self.random.random() < 0.5:
            worker.checkpoint()
        try:
            worker.tier(budget_bytes=self.random.choice([1, 1 << 30]))
        except Fenced:
            raise
        except ObjectStoreError:
            return

    def read(self, worker: Worker) -> None:
        """Read all that a worker has, on the disk or in its folder of the store."""
        self.fault_rate = 0.0
        assert worker.log.state == "OPEN"
        assert bodies(worker.log) == self.written[worker.number]

    def kill(self, worker: Worker) -> None:
        """End one process, or all by a power failure; each starts again, its requests still under way."""
        power_fails = self.random.random() < 0.5
        disk = worker.disk.crash(DROP_ALL) if power_fails else worker.disk
        for number in range(COUNT) if power_fails else [worker.number]:
            self.old.append(self.workers[number])
            incarnation = f"process-{len(self.old)}"
            self.workers[number] = Worker(self.objects, disk, number, incarnation=incarnation)
            self.workers[number].now_ms = self.old[-1].now_ms

    def clean(self, worker: Worker) -> None:
        """Remove garbage whose time has come, or look for orphans."""
        if worker.uploader.cut is None:
            return
        try:
            if self.random.random() < 0.3:
                worker.uploader.sweep(worker.now_ms)
            worker.now_ms += self.random.choice([0, 2_000])
            worker.uploader.clean(worker.now_ms, count=50)
        except ObjectStoreError:
            return

    def of_an_old_process(self, _worker: Worker) -> None:
        """Have a process that was replaced try again to set its cut."""
        old = self.random.choice(self.old) if self.old else None
        if old is None or old.uploader.cut is None or self.workers[old.number].uploader.cut is None:
            return
        with pytest.raises(ObjectStoreError):
            old.uploader._set_cut(old.uploader.cut)

    def check(self) -> None:
        """Compare what a restore shows with what was written, and who may serve the directory."""
        self.check_workers()
        try:
            disk = all_restored(self.objects)
        except BackupError:
            assert not all(self.is_complete), "copies that could be restored stay such"
            return
        for number, found in enumerate(found_in(disk.crash(DROP_ALL))):
            written = self.written[number]
            assert found == written[: len(found)]
            assert len(found) >= self.covered[number]
            assert bodies(Worker(self.objects, disk, number).log) == found, "two workers find the same"

    def check_workers(self) -> None:
        """Look whether another number of workers is refused, which is so while segments are away."""
        disk = self.workers[0].disk
        is_away = any(worker.log.remote_usage()[0] for worker in self.workers)
        refuse_other_workers(disk, "data", COUNT)
        if is_away:
            assert marker_workers(disk, f"data/{MARKER}") == COUNT
            with pytest.raises(OtherWorkers):
                refuse_other_workers(disk, "data", 1)
        else:
            refuse_other_workers(disk, "data", 1)
        self.is_away |= is_away


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_restore_has_of_each_worker_a_durable_state_and_all_that_was_covered(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
        world.check()
    for worker in world.workers:
        world.round(worker)
        worker.round()
    world.covered = [len(written) for written in world.written]
    world.is_complete = [True] * COUNT
    world.check()


def test_the_seeds_reach_copies_of_both_tiered_segments_and_late_requests() -> None:
    worlds = [World(seed) for seed in range(12)]
    late = 0
    for world in worlds:
        for _ in range(STEPS):
            world.step()
            late += world.objects.late_count > 0
        world.check_workers()
    assert any(world.is_away for world in worlds)
    assert sum(all(world.is_complete) for world in worlds) > 6
    assert late


def test_one_seed_gives_one_trace() -> None:
    def trace() -> list[ObjectCall]:
        world = World(7)
        for _ in range(STEPS):
            world.step()
        return world.objects.calls

    assert trace() == trace()
