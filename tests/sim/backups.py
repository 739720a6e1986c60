"""Backups made in the middle of a simulation, a step at a time, and a start from each.

A simulation says what it has promised when a backup begins, and compares that with a broker that was started
from the restored backup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from broker.core import Broker
from broker.start import open_broker, vnodes_of
from broker.storage.vnode import Vnode
from tests.sim.world import World
from wal.backup import Backup, Progress
from wal.backup_manifest import backups_in
from wal.disk import DiskError
from wal.errors import NotUsable
from wal.format import COPIES_BIT
from wal.restore import Restore
from wal.store import META

FOLDER = "/backups"
RESTORED = "/restored"

Promise = Callable[[], Callable[[Broker], None]]
"""Called when a backup begins; the result is called with a broker that was started from it."""


class Backups:
    """Makes one backup after another, each over many steps of the simulation.

    `meanwhile` lets clients be answered between two steps of the copy.
    """

    def __init__(
        self, world: World, chance: Random, promise: Promise, meanwhile: Callable[[], object]
    ) -> None:
        self.world = world
        self.meanwhile = meanwhile
        self.promise = promise
        self.chance = chance
        self.made = 0
        self.failed = 0
        self.linked = 0
        self._steps: Iterator[Progress] | None = None
        self._backup: Backup | None = None
        self._disk = world.disk
        self._compare: Callable[[Broker], None] | None = None

    def step(self) -> str:
        """Begin a backup or do its next steps."""
        if self._disk is not self.world.disk:
            # The machine has started again: what was under way is lost.
            self._steps = None
            self._disk = self.world.disk
        try:
            if self._steps is None:
                return self._begin()
            for _ in range(self.chance.choice((1, 1, 1, 3, 30))):
                if self.chance.random() < 0.2:
                    self.meanwhile()
                    if self._disk is not self.world.disk:
                        return "the backup is lost with the machine"
                progress = next(self._steps, None)
                if progress is None:
                    return self._done()
            return f"backup: {progress}"
        except (DiskError, NotUsable) as error:
            self._steps = None
            self.failed += 1
            return f"backup fails: {error}"

    def finish(self) -> None:
        """Do all steps of a new backup on a machine at rest, and check it."""
        self._steps = None
        self._disk = self.world.disk
        self.meanwhile = lambda: None
        before = self.made
        for _ in range(10_000):
            self.step()
            if self.made > before:
                return
            self.world.advance(1)
        raise AssertionError("a backup never ends")

    def _begin(self) -> str:
        self._backup = Backup(
            self.world.disk, "/data", FOLDER, clock=lambda: self.world.wall_ms, vnodes_of=vnodes_of
        )
        self._steps = self._backup.run()
        self._compare = self.promise()
        return "backup begins"

    def _done(self) -> str:
        backup = self._backup
        assert backup is not None
        assert backup.manifest is not None
        self._steps = None
        self.made += 1
        self.linked += backup.linked_bytes > 0
        self._check(backup.path)
        return f"backup {backup.path}: {backup.copied_bytes} copied, {backup.linked_bytes} linked"

    # --- the check -------------------------------------------------------------------------------------

    def _check(self, path: str) -> None:
        """Restore a backup on a twin of the disk, start from it, and compare it with the promise."""
        assert self._compare is not None
        disk = self.world.disk.kill()
        disk.locks.clear()
        disk.capacity_bytes = None
        assert path.rpartition("/")[2] in backups_in(disk, FOLDER)
        for _ in Restore(disk, path, RESTORED).run():
            pass
        broker = open_broker(
            disk,
            replace(self.world.config, log_dirs=RESTORED),
            random=Random(0),
            now_ms=self.world.now_ms,
            wall_ms=self.world.wall_ms,
        )
        assert broker.cluster_id == self.world.broker.cluster_id
        for vnode in broker.vnodes.every:
            assert vnode.log.damage is None, f"{vnode.name}: {vnode.log.damage}"
            # The catalogue is not older than the logs: ids that it gives out are new to them.
            ids = [stream for stream in vnode.log.streams() if not stream & COPIES_BIT]
            assert max(ids, default=0) < broker.catalogue.next_stream, vnode.name
            if vnode.database != META:
                self._check_epoch(vnode)
        given, next_id = self.world.broker.catalogue.next_producer_id, broker.catalogue.next_producer_id
        # The broker that was copied goes on with them.
        assert next_id > given, f"producer ids from {next_id} on are given out again"
        self._compare(broker)

    def _check_epoch(self, vnode: Vnode) -> None:
        """Look whether a restored log gives out again what the log that it comes from has given out since."""
        for original in self.world.broker.vnodes.every:
            if original.name == vnode.name:
                before, after = original.log.largest_leader_epoch(), vnode.log.largest_leader_epoch()
                assert after > before, f"{vnode.name} begins again in the leader epoch {after}"
