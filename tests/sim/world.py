"""A broker and everything around it that a real one does not control: disk, threads, clock, power, sockets.

Nothing happens by itself. The driver of the world begins disk jobs, lets one of them run, hands its result
back, moves the clock, breaks the disk, kills the process or cuts the power, in any order; so any interleaving
that threads could give is one call away, and the same calls give the same world.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from broker.catalogue.topics import Topic
from broker.config.config import Config
from broker.core import Broker
from broker.start import open_broker
from broker.storage.partition import Partition
from broker.storage.vnode import DiskJob, Vnode
from tests.wal.crash import RandomFates
from wal.disk import DiskError
from wal.errors import NotUsable
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault

if TYPE_CHECKING:
    from tests.sim.clients import Link

START_MS = 1_700_000_000_000

BREAKABLE = ("write", "sync", "allocate", "rename", "sync_directory", "open", "truncate", "read")
"""Disk calls that may be made to fail."""


def _raise(error: BaseException) -> None:
    """Let no error of our own be overlooked: at work the broker catches it."""
    raise error


class PowerCut(BaseException):
    """The power fails in the middle of a disk job; no layer below may catch it."""


@dataclass(slots=True, eq=False)
class Flight:
    """A disk job between its start and its end."""

    vnode: Vnode
    job: DiskJob
    ran: bool = False
    error: DiskError | None = None


class World:
    """One machine with one broker; `chance` decides whatever the driver leaves open."""

    def __init__(
        self,
        chance: Random,
        *,
        snapshot_bytes: int = 1 << 20,
        checkpoint_ns: int = 800_000_000,
        frame_bytes_max: int = 8 << 20,
        **settings: Any,
    ) -> None:
        self.chance = chance
        self.snapshot_bytes = snapshot_bytes
        self.checkpoint_ns = checkpoint_ns
        self.frame_bytes_max = frame_bytes_max
        self.config = replace(Config(), log_dirs="/data", **settings)
        self.now_ms = START_MS
        self.wall_shift_ms = 0
        self.flights: list[Flight] = []
        self.calls_until_cut: int | None = None
        self.broken: str | None = None
        self.broken_for_long = False
        """Whether calls of that kind fail until the disk is healed, not only the next."""
        self.links: list[Link] = []
        self._use(MemoryDisk())
        self.broker = self._open()

    # --- the disk --------------------------------------------------------------------------------------

    def _use(self, disk: MemoryDisk) -> None:
        self.disk = disk
        disk.faults.append(self._ask)

    def _ask(self, call: Call) -> Fault | None:
        if self.calls_until_cut is not None:
            if self.calls_until_cut == 0:
                raise PowerCut
            self.calls_until_cut -= 1
        if self.broken is None or call.kind != self.broken:
            return None
        if not self.broken_for_long:
            self.broken = None
        if call.kind == "write":
            full = self.chance.random() < 0.5
            stored = self.chance.randrange(call.size_bytes + 1)
            return Fault(errno.ENOSPC if full else errno.EIO, stored_bytes=stored)
        return Fault(errno.ENOSPC if call.kind == "allocate" else errno.EIO)

    def break_next(self, kind: str, *, for_long: bool = False) -> None:
        """Let the next disk call of this kind fail, or all of them until the disk is healed."""
        self.broken = kind
        self.broken_for_long = for_long

    def fill_disk(self, room_bytes: int) -> None:
        """Leave this much room on the disk."""
        self.disk.capacity_bytes = self.disk.used_bytes() + room_bytes

    def heal_disk(self) -> None:
        """Give room without end, and let neither a call nor the power fail any more."""
        self.calls_until_cut = None
        self.disk.capacity_bytes = None
        self.broken = None
        self.broken_for_long = False

    # --- threads ---------------------------------------------------------------------------------------

    def begin_jobs(self) -> int:
        """Take the disk work the broker has; return how much."""
        before = len(self.flights)
        for vnode, job in self.broker.take_jobs(self.now_ms):
            self.flights.append(Flight(vnode, job))
        return len(self.flights) - before

    def run(self, flight: Flight) -> None:
        """Do the work of a job, as a thread would.  Raises: PowerCut, when one is planned for now."""
        try:
            flight.job.run()
        except DiskError as error:
            flight.error = error
        flight.ran = True

    def finish(self, flight: Flight) -> None:
        """Tell the broker of a job that has run."""
        self.flights.remove(flight)
        self.broker.job_done(flight.vnode, flight.job, flight.error, self.now_ms)

    def settle(self) -> None:
        """Do all disk work there is, and make the answers that are made in slices."""
        for _ in range(1_000):
            while self.broker.scheduler.pending:
                self.broker.scheduler.run()
            for flight in tuple(self.flights):
                if not flight.ran:
                    self.run(flight)
                self.finish(flight)
            if not self.begin_jobs():
                break
        else:
            raise AssertionError("the disk work never ends")
        deadline = self.broker.next_deadline()
        # A deadline that has come and brings no work would make the event loop spin.
        assert deadline is None or deadline > self.now_ms or self._tick_moves_on()

    def _tick_moves_on(self) -> bool:
        self.broker.tick(self.now_ms)
        if self.begin_jobs():
            self.settle()
        deadline = self.broker.next_deadline()
        return deadline is None or deadline > self.now_ms

    # --- time ------------------------------------------------------------------------------------------

    @property
    def wall_ms(self) -> int:
        """The time of day."""
        return self.now_ms + self.wall_shift_ms

    def advance(self, duration_ms: int) -> None:
        """Let time pass without the machine noticing before its end."""
        self.now_ms += duration_ms
        self.broker.set_clocks(now_ms=self.now_ms, wall_ms=self.wall_ms)
        self.broker.tick(self.now_ms)

    # --- ends and beginnings ---------------------------------------------------------------------------

    def kill(self) -> None:
        """End the process; what it wrote is in the page cache, no safer than before."""
        self._crashed(self._left_behind())

    def _left_behind(self) -> MemoryDisk:
        """Return the disk as the next process finds it.

        File systems with a journal go read-only when a directory cannot be synced: only a new mount helps.
        """
        if any(change.is_lost for change in self.disk.image.pending_names):
            return self.disk.crash(RandomFates(self.chance.getrandbits(32)))
        return self.disk.kill()

    def cut_power(self, *, again_after_calls: int | None = None) -> None:
        """Lose the process and any part of what was not synced, maybe once more during the next start."""
        self.calls_until_cut = again_after_calls
        self._crashed(self.disk.crash(RandomFates(self.chance.getrandbits(32))))

    def stop(self) -> None:
        """End in order, as SIGTERM does once all disk work is done."""
        self.broker.begin_stop(self.now_ms)
        self.settle()
        self.broker.close(self.now_ms)
        self._crashed(self._left_behind())

    def _crashed(self, disk: MemoryDisk) -> None:
        disk.capacity_bytes = self.disk.capacity_bytes
        self.flights.clear()
        self._use(disk)
        for link in self.links:
            link.lost()
        self.links.clear()
        self.broker = self._open()

    def _open(self) -> Broker:
        """Start the broker; a disk that fails, or power that fails once more, is met by starting again."""
        for _ in range(4):
            try:
                broker = open_broker(
                    self.disk,
                    self.config,
                    random=Random(self.chance.getrandbits(32)),
                    now_ms=self.now_ms,
                    wall_ms=self.wall_ms,
                )
            except (DiskError, NotUsable):
                self.heal_disk()
                self._use(self.disk.kill())
            except PowerCut:
                self.calls_until_cut = None
                self._use(self.disk.crash(RandomFates(self.chance.getrandbits(32))))
            else:
                broker.snapshots.after_bytes = self.snapshot_bytes
                broker.internal_errors.listener = _raise
                for vnode in broker.vnodes.every:
                    log = vnode.log
                    log.change_options(
                        replace(
                            log.options,
                            checkpoint_ns=self.checkpoint_ns,
                            frame_bytes_max=self.frame_bytes_max,
                        )
                    )
                return broker
        raise AssertionError("the broker does not start on a sound disk")

    # --- a look inside ---------------------------------------------------------------------------------

    def partitions(self) -> Iterator[tuple[Topic, Partition]]:
        """Yield every partition of every topic in the catalogue."""
        for topic in self.broker.catalogue.by_name.values():
            for index in range(topic.partition_count):
                yield topic, self.broker.topics.partition(topic, index)

    @property
    def _logs(self) -> list[VnodeLog]:
        vnodes = [vnode for group in self.broker.vnodes.values() for vnode in group]
        return [self.broker.meta.log, *(vnode.log for vnode in vnodes)]

    def is_sound(self) -> bool:
        """Whether no log has failed; none is ever damaged, because nothing here rots."""
        damages = [log.damage for log in self._logs if log.damage is not None]
        assert not damages, f"a false alarm: {damages}"
        return all(log.state == "OPEN" for log in self._logs)
