"""Several processes of durability `remote` over one object store; one seed chooses everything.

    a process      has a disk of its own, a broker, and threads that call the store when chance lets them
    a take-over    a fresh disk is made from the bucket, and a process starts there; the old one lives on
    a crash        the disk is kept, lost, or put back as it was some time before
    the store      gives no answer, loses it, carries a request out much later, or tells of a conflict

Between any two calls of the store, those of a restore and of a take-over too, something else may happen.

What must be true after each restore, and in each process that has taken over: every record that was
acknowledged is there, at its offset, once; no offset was acknowledged for two records.  The same is true of
every record that any process has shown to readers, acknowledged or not.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import NamedTuple

from protocol.error_codes import ErrorCode
from tests.broker.gateway import START_MS, Gateway
from tests.sim.journal_process import SETTINGS, Process, Sent
from wal.backup_manifest import BackupError
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import ObjectStoreError
from wal.remote.formats import CUT, open_cut
from wal.remote.restore import RemoteRestore
from wal.segment import FileRange

FAULTS = [ObjectFault.AWAY, ObjectFault.LOST, ObjectFault.LATE, ObjectFault.CONFLICT]
PROCESSES_MAX = 3
BETWEEN = 0.15
"""How often something else happens between two calls of the store."""
BODY = re.compile(rb"<(\d+)>")
UNRESOLVED_MAX = 4

Place = tuple[str, int]
"""A topic and a partition."""


class Acked(NamedTuple):
    """An acknowledgement."""

    place: Place
    offset: int


class Producer:
    """A producer of one partition, which sends again what was not answered, in order, as clients do."""

    def __init__(self, producer_id: int, place: Place) -> None:
        self.producer_id = producer_id
        self.place = place
        self.sequence = 0
        self.unresolved: list[Sent] = []
        self.at: Process | None = None
        self.is_broken = False
        """Whether an answer was an error: the rest must be sent again."""


class World:
    """The store, the processes, and what clients were told."""

    def __init__(self, seed: int, *, is_atomic: bool = True) -> None:
        self.random = Random(seed)
        self.fault_rate = 0.0
        self.is_quiet = True
        self.inside = False
        self.objects = MemoryObjects(self._between, is_atomic=is_atomic)
        self.now_ms = START_MS
        self.number = 0
        self.bodies = 0
        self.topics: list[str] = []
        self.acked: dict[bytes, Acked] = {}
        self.by_offset: dict[tuple[Place, int], bytes] = {}
        self.shown: dict[tuple[Place, int], bytes] = {}
        """What processes have shown to readers, by offset."""
        self.deleted: Counter[Place] = Counter()
        """Up to where records were asked to be removed."""
        self.producers: list[Producer] = []
        self.old_disks: list[MemoryDisk] = []
        self.take_overs = 0
        self.processes = [self._process(MemoryDisk())]
        self.cluster_id = self.processes[0].gateway.broker.cluster_id
        self.processes[0].create("t0")
        self.settle()
        assert self.topics == ["t0"]

    def _process(self, disk: MemoryDisk) -> Process:
        self.number += 1
        self.now_ms = 1 + max([self.now_ms, *(p.gateway.now_ms for p in getattr(self, "processes", []))])
        return Process(self.objects, disk, name=f"process-{self.number}", now_ms=self.now_ms)

    # --- the store -------------------------------------------------------------------------------------

    def _between(self, _call: ObjectCall) -> ObjectFault | None:
        """Have something else happen before a call, and choose its fault."""
        if not self.is_quiet and not self.inside and self.random.random() < BETWEEN:
            self.inside, rate = True, self.fault_rate
            self.work()
            self.inside, self.fault_rate = False, rate
        return self.random.choice(FAULTS) if self.random.random() < self.fault_rate else None

    def land(self) -> None:
        """Let a request arrive that was given up."""
        if self.objects.late_count:
            self.objects.land_late(self.random.randrange(self.objects.late_count))

    # --- steps -----------------------------------------------------------------------------------------

    def step(self) -> None:
        """Do one thing."""
        self.fault_rate = self.random.choice([0.0, 0.0, 0.1, 0.4])
        self.is_quiet = False
        if self.random.random() < 0.9:
            self.work()
        else:
            self.random.choice([self.crash, self.crash, self.take_over, self.retire, self.remember])()
        self.fault_rate, self.is_quiet = 0.0, True
        self.hear()

    def work(self) -> None:
        """Have a process, or a client, do something."""
        if not self.processes:
            return
        process = self.random.choice(self.processes)
        actions = [
            self.produce, self.produce, process.run_disk, process.run_disk, process.run_thread,
            process.run_thread, process.run_thread, process.learn, self.pass_time, self.land_one,
            self.administer, self.reattach,
        ]  # fmt: skip
        action = self.random.choice(actions)
        action(self.random)
        self.hear()

    def land_one(self, _random: Random) -> None:
        """Let a request arrive that was given up."""
        self.land()

    def pass_time(self, random: Random) -> None:
        """Let time pass for one process, or for all but those that are paused."""
        duration_ms = random.choice([1, 100, 600, 3_000])
        for process in random.sample(self.processes, random.randrange(1, len(self.processes) + 1)):
            process.pass_time(duration_ms)

    def administer(self, random: Random) -> None:
        """Ask for a topic, or for old records to be removed."""
        process = random.choice(self.processes)
        if random.random() < 0.3 and self.bodies < 60:
            process.create(f"t{random.randrange(1, 4)}")
            return
        known = [acked for acked in self.acked.values() if acked.offset > self.deleted[acked.place] + 5]
        if known and random.random() < 0.3:
            acked = random.choice(known)
            self.deleted[acked.place] = max(self.deleted[acked.place], acked.offset)
            process.delete_records(*acked.place, acked.offset)

    def produce(self, random: Random) -> None:
        """Send a record, of a producer that is new or not."""
        if len(self.producers) < 2 * len(self.topics):
            place = (self.topics[len(self.producers) // 2], len(self.producers) % 2)
            self.producers.append(Producer(100 + len(self.producers), place))
        producer = random.choice(self.producers)
        if producer.at not in self.processes or producer.is_broken:
            self.attach(producer, random.choice(self.processes))
        if len(producer.unresolved) >= UNRESOLVED_MAX:
            return
        self.bodies += 1
        body = b"<%d>" % self.bodies + b"x" * random.choice([10, 10, 5_000, 20_000])
        sent = Sent(*producer.place, body, producer.sequence)
        producer.sequence += 1
        producer.unresolved.append(sent)
        assert producer.at is not None
        producer.at.produce(producer.producer_id, sent)

    def reattach(self, random: Random) -> None:
        """Have a producer go to another process, as after a time-out."""
        if self.producers and random.random() < 0.3:
            self.attach(random.choice(self.producers), random.choice(self.processes))

    def attach(self, producer: Producer, process: Process) -> None:
        """Have a producer send again what was not answered, to this process."""
        producer.at, producer.is_broken = process, False
        for sent in list(producer.unresolved):
            process.produce(producer.producer_id, sent)

    def hear(self) -> None:
        """Take all answers."""
        for process in self.processes:
            self.topics += [name for name in process.admin_answers() if name not in self.topics]
            for producer in self.producers:
                for sent, error, offset in process.answers(producer.producer_id):
                    self._answered(producer, sent, error, offset)

    def _answered(self, producer: Producer, sent: Sent, error: int, offset: int) -> None:
        if error != ErrorCode.NONE:
            producer.is_broken = True
            return
        acked = Acked((sent.name, sent.partition), offset)
        assert self.acked.setdefault(sent.body, acked) == acked, "one record, two offsets"
        found = self.by_offset.setdefault(acked, sent.body)
        assert found == sent.body, f"{acked} was acknowledged for {found[:8]!r} and {sent.body[:8]!r}"
        if sent in producer.unresolved:
            producer.unresolved.remove(sent)

    # --- catastrophes ----------------------------------------------------------------------------------

    def remember(self) -> None:
        """Keep a disk as it is now, to be put back some time."""
        if self.processes:
            self.old_disks.append(self.random.choice(self.processes).gateway.disk.crash(DROP_ALL))

    def retire(self) -> None:
        """End a process that was fenced or refused."""
        self.processes = [process for process in self.processes if not process.is_stopped]

    def crash(self) -> None:
        """End a process; its disk is kept, lost, or put back as it was."""
        if not self.processes:
            return
        process = self.random.choice(self.processes)
        self.hear()
        self.processes.remove(process)
        fate = self.random.random()
        if fate < 0.6:
            self.processes.append(self._process(process.gateway.disk.crash(DROP_ALL)))
            self.look(self.processes[-1])
        elif fate < 0.8 and self.old_disks:
            self.processes.append(self._process(self.random.choice(self.old_disks).crash(DROP_ALL)))

    def take_over(self) -> None:
        """Make a disk from the bucket, and start there; the others live on."""
        if len(self.processes) >= PROCESSES_MAX:
            return
        disk = MemoryDisk()
        try:
            for _ in RemoteRestore(self.objects, disk, cluster_id=self.cluster_id, data="/data").run():
                if self.random.random() < BETWEEN:
                    self.work()
        except (ObjectStoreError, StoreError, BackupError):
            return  # it is to be begun again; `check` looks at what it says when nothing is under way
        self.take_overs += 1
        self.processes.append(self._process(disk))

    # --- what must be true -----------------------------------------------------------------------------

    def check(self) -> None:
        """Restore from the bucket, and look for everything that was acknowledged."""
        self.hear()
        disk = MemoryDisk()
        for _ in RemoteRestore(self.objects, disk, cluster_id=self.cluster_id, data="/data").run():
            pass
        self.compare(Gateway(disk, start_ms=self.now_ms, **SETTINGS))

    def look(self, process: Process) -> None:
        """Keep what a process shows to readers now."""
        for name in self.topics:
            if process.gateway.broker.catalogue.find(name) is not None:
                for index in range(2):
                    for offset, number in records(process.gateway, (name, index)).items():
                        known = self.shown.setdefault(((name, index), offset), number)
                        assert known == number, f"{name}-{index}: two records were shown at {offset}"

    def check_owners(self) -> None:
        """Look at the process that has taken over last, if it lives and acknowledges."""
        self.hear()
        for process in self.processes:
            self.look(process)
        epoch = open_cut(self.objects.objects[f"{self.cluster_id}/{CUT}"].data, CUT).epoch
        for process in self.processes:
            if process.epoch == epoch:
                self.compare(process.gateway)

    def compare(self, gateway: Gateway) -> None:
        """Compare what a gateway has with what was acknowledged."""
        names = {topic.name for topic in gateway.broker.catalogue.by_name.values()}
        assert set(self.topics) <= names, "a topic is missing"
        logs = {}
        for place in [(name, index) for name in self.topics for index in range(2)]:
            logs[place] = records(gateway, place)
            values = list(logs[place].values())
            assert len(values) == len(set(values)), f"{place}: a record is there twice"
        for (place, offset), number in self.shown.items():
            if offset not in logs[place] and offset < log_start(gateway, place):
                continue
            assert logs[place].get(offset) == number, f"{place}: <{number!r}> was shown at {offset}"
        for body, (place, offset) in self.acked.items():
            found = logs[place].get(offset)
            if found is None and offset < self.deleted[place] and offset < log_start(gateway, place):
                continue
            match = BODY.match(body)
            assert match is not None
            assert found == match.group(1), f"{place}: {match.group()!r} was acknowledged at {offset}"

    def settle(self) -> None:
        """Have the newest process do all that it has to do, with a store that works."""
        random = Random(1)
        process = self.processes[-1]
        for _ in range(40):
            process.pass_time(300)
            for _ in range(10):
                process.run_disk(random)
                process.run_thread(random)
                process.learn(random)
        self.hear()

    def end(self) -> None:
        """Have a successor go on, all late requests land and all old processes do what they can."""
        self.processes = [process for process in self.processes if not process.is_stopped]
        old = self.processes
        disk = MemoryDisk()
        for _ in RemoteRestore(self.objects, disk, cluster_id=self.cluster_id, data="/data").run():
            pass
        self.processes = [*old, self._process(disk)]
        self.settle()
        successor = self.processes[-1]
        assert successor.epoch
        for producer in self.producers:
            self.attach(producer, successor)
        self.objects.land_late()
        for _ in range(60):
            self.work()
        self.settle()
        for producer in self.producers:
            self.attach(producer, successor)
        self.settle()
        assert not any(producer.unresolved for producer in self.producers), "all can be sent again"
        self.compare(successor.gateway)
        self.check()


def records(gateway: Gateway, place: Place) -> dict[int, bytes]:
    """Return the numbers of a partition's records, by offset."""
    found: dict[int, bytes] = {}
    partition = gateway.partition(*place)
    log, stream, offset = partition.vnode.log, partition.stream_id, partition.log_start
    while offset < partition.high_watermark:
        result = log.read(stream, offset, 1 << 20)
        data = b"".join(part.read() if isinstance(part, FileRange) else bytes(part) for part in result.parts)
        while data:
            base, size = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big") + 12
            body = BODY.search(data, 61, size)
            if body is not None:
                found[base] = body.group(1)
            data = data[size:]
        offset = result.next_offset
    return found


def log_start(gateway: Gateway, place: Place) -> int:
    """Return the first offset of a partition."""
    return gateway.partition(*place).log_start
