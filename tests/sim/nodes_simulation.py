"""Two nodes over one object store, each with a journal of its own; one seed chooses everything.

    a process      has a disk, a broker, threads that call the store, signs of life, and the other node's
    a start        waits for the store, and at node 1 for the controller's catalogue
    a take-over    a disk is made from the node's place, and a process starts there, at another address; the
                   one before lives on, is found by some, and may never learn of it
    between nodes  requests are lost, answered in vain, or go to a process that was replaced

Clients: producers of single records, one of transactions over both nodes, and a reader that commits at one
node what it has read at the other.

What must be true, at any moment, of the cluster that is made from the store alone: all that was acknowledged
is there once, at its offset; a transaction is at both nodes or at none; no committed offset is beyond the
records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from broker.catalogue.address_book import Address, StaticAddresses
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.gateway import START_MS
from tests.broker.kit import creation
from tests.sim.journal_process import Sent
from tests.sim.journal_simulation import Acked, Place, Producer
from tests.sim.nodes_checks import TOPIC, TX_TOPIC, check
from tests.sim.nodes_clients import Reader, Writer
from tests.sim.nodes_net import COUNT, Net, whole_catalogue
from tests.sim.nodes_process import NodeProcess
from tests.wal.remote.folders import Folder
from wal.backup_manifest import BackupError
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import ObjectStoreError
from wal.remote.places import node_folder
from wal.remote.restore import RemoteRestore

FAULTS = [ObjectFault.AWAY, ObjectFault.LOST, ObjectFault.LATE, ObjectFault.CONFLICT]
BETWEEN = 0.1
"""How often something else happens between two calls of the store."""
PER_NODE_MAX = 2
"""Processes of one node at once, and as many that are starting."""
UNRESOLVED_MAX = 3
INTERNAL = ("__consumer_offsets", "__transaction_state")


class NodesWorld:
    """The store, the processes of all nodes, and what clients were told."""

    def __init__(self, seed: int, *, is_atomic: bool = True) -> None:
        self.random = Random(seed)
        self.fault_rate = 0.0
        self.is_quiet, self.inside = True, False
        self.objects = MemoryObjects(self._between, is_atomic=is_atomic)
        self.folders = {number: Folder(self.objects, node_folder(number)) for number in range(COUNT)}
        self.configured = StaticAddresses([Address(f"process-{number + 1}", 1) for number in range(COUNT)])
        self.net = Net()
        self.now_ms, self.number, self.bodies, self.take_overs = START_MS, 0, 0, 0
        self.processes: list[NodeProcess] = []
        self.starting: list[NodeProcess] = []
        self.acked: dict[bytes, Acked] = {}
        self.by_offset: dict[Acked, bytes] = {}
        self.cluster_id = ""
        self._leaders: dict[Place, int] = {}
        for number in range(COUNT):
            self._make(number, MemoryDisk())
            self._settle(lambda: not self.starting)
        self.cluster_id = self.processes[0].gateway.broker.cluster_id
        self._make_topics()
        places = [(TX_TOPIC, index) for index in range(COUNT)]
        self.producers = [Producer(100 + index, (TOPIC, index)) for index in range(COUNT)]
        self.writer = Writer(self.find, places)
        self.reader = Reader(self.find, (TOPIC, 1))

    def _make_topics(self) -> None:
        client = self.processes[0].gateway.client()
        topics = [creation(name, COUNT) for name in (TOPIC, TX_TOPIC)]
        topics += [creation(name, COUNT, cleanup_policy="compact") for name in INTERNAL]
        client.send(CreateTopicsRequest(topics=topics, timeout_ms=1_000), 7)

        def made() -> bool:
            return all(
                process.gateway.broker.catalogue.find(topic.name) is not None
                for process in self.processes
                for topic in topics
            )

        self._settle(made)
        assert made()
        broker = self.processes[0].gateway.broker
        for topic in topics:
            for index in range(COUNT):
                leader, _ = broker.topics.leader(broker.find_topic(topic.name), index)
                self._leaders[topic.name, index] = leader

    def _settle(self, is_enough: Callable[[], bool]) -> None:
        """Have all do what they can with a store that works, until it is enough."""
        for _ in range(300):
            if is_enough():
                return
            self._all_once()

    def _all_once(self) -> None:
        self._start_some(self.random)
        for process in self.processes:
            process.beat(self.random)
            process.look(self.random)
            process.pass_time(100)
            for _ in range(8):
                process.run_disk(self.random)
                process.run_thread(self.random)
                process.learn(self.random)
        for message in list(self.net.sent):
            self.net.deliver(message)
        for process in self.processes:
            process.run_disk(self.random)
        self.net.collect()

    # --- the store -------------------------------------------------------------------------------------

    def _between(self, _call: ObjectCall) -> ObjectFault | None:
        """Have something else happen before a call, and choose its fault."""
        if not self.is_quiet and not self.inside and self.random.random() < BETWEEN:
            self.inside, rate = True, self.fault_rate
            self.work()
            self.inside, self.fault_rate = False, rate
        return self.random.choice(FAULTS) if self.random.random() < self.fault_rate else None

    # --- steps -----------------------------------------------------------------------------------------

    def step(self) -> None:
        """Do one thing."""
        self.fault_rate, self.is_quiet = self.random.choice([0.0, 0.0, 0.1, 0.4]), False
        if self.random.random() < 0.98:
            self.work()
        else:
            self.random.choice([self.crash, self.crash, self.take_over, self.retire])(self.random)
        self.fault_rate, self.is_quiet = 0.0, True

    def work(self) -> None:
        """Have a process, a client, or what is on its way, move on."""
        others = [self._pass_time, self._pass_time, self._land, self._start_some, self.reattach]
        clients = [self.produce, self.writer.step, self.writer.step, self.reader.step]
        self.random.choice(clients)(self.random)
        self.random.choice([*others, self.move, self.move, self.move])(self.random)
        if self.processes:
            process = self.random.choice(self.processes)
            actions = [process.run_disk, process.run_disk, process.run_thread, process.run_thread]
            actions += [process.run_thread, process.learn, process.beat, process.look]
            for action in self.random.sample(actions, 3):
                action(self.random)
        self.hear()

    def _pass_time(self, random: Random) -> None:
        duration_ms = random.choice([1, 50, 200, 1_000])
        for process in list(self.processes):
            if random.random() < 0.8:
                process.pass_time(duration_ms)
            if process.gateway.lost:
                self._end(process, process.gateway.disk.crash(DROP_ALL))

    def _land(self, random: Random) -> None:
        if self.objects.late_count:
            self.objects.land_late(random.randrange(self.objects.late_count))

    def move(self, random: Random) -> None:
        """Have a request between nodes arrive, or be lost, or its answer; pass answers on."""
        if self.net.sent:
            message, chance = random.choice(self.net.sent), random.random()
            if chance < 0.04:
                self.net.lose(message)
            else:
                self.net.deliver(message, answers=chance > 0.08)
        self.net.collect()

    # --- processes -------------------------------------------------------------------------------------

    def _make(self, number: int, disk: MemoryDisk) -> None:
        """Begin a start of a node on a disk."""
        if sum(process.number == number for process in self.starting) >= PER_NODE_MAX:
            return
        catalogue = None
        if number:
            controllers = [process for process in self.processes if not process.number]
            if not controllers:
                return
            controller = self.random.choice(controllers)
            catalogue = whole_catalogue(controller.gateway, lambda: self._help(controller))
            if catalogue is None:
                return
        self.number += 1
        self.now_ms = 1 + max([self.now_ms, *(process.gateway.now_ms for process in self.processes)])
        self.starting.append(
            NodeProcess(
                self.net,
                number,
                disk,
                name=f"process-{self.number}",
                now_ms=self.now_ms,
                catalogue=catalogue,
                folders=self.folders,
                configured=self.configured,
            )
        )

    def _help(self, process: NodeProcess) -> None:
        process.run_disk(self.random)
        process.run_thread(self.random)
        process.learn(self.random)
        process.pass_time(10)

    def _start_some(self, random: Random) -> None:
        """Have a process that is starting try to serve."""
        if not self.starting:
            return
        process = random.choice(self.starting)
        process.gateway.now_ms += 100
        self.starting.remove(process)
        if process.begin():
            self.processes.append(process)
        elif not process.is_stopped:
            self.starting.append(process)

    def _end(self, process: NodeProcess, disk: MemoryDisk | None) -> None:
        """End a process; one may start on a disk."""
        self.hear()
        self.processes.remove(process)
        self.net.gateways.pop(process.name, None)
        if disk is not None:
            self._make(process.number, disk)

    def retire(self, _random: Random) -> None:
        """End the processes that were fenced or refused."""
        for process in [process for process in self.processes if process.is_stopped]:
            self._end(process, None)

    def crash(self, random: Random) -> None:
        """End a process; its disk is kept or lost."""
        if self.processes:
            process = random.choice(self.processes)
            keeps = random.random() < 0.7
            self._end(process, process.gateway.disk.crash(DROP_ALL) if keeps else None)

    def take_over(self, random: Random) -> None:
        """Make a disk from a node's place in the store, and start there; the others live on."""
        number = random.randrange(COUNT)
        if sum(process.number == number for process in self.processes) >= PER_NODE_MAX:
            return
        disk = MemoryDisk()
        try:
            for _ in self.restore(number, disk):
                if random.random() < BETWEEN:
                    self.work()
        except (ObjectStoreError, StoreError, BackupError):
            return  # it is to be begun again
        self.take_overs += 1
        self._make(number, disk)

    def restore(self, number: int, disk: MemoryDisk) -> Iterator[object]:
        return RemoteRestore(self.folders[number], disk, cluster_id=self.cluster_id, data="/data").run()

    # --- clients ---------------------------------------------------------------------------------------

    def find(self, random: Random, name: str, index: int) -> NodeProcess | None:
        """Return some process of the node that leads a partition."""
        found = [process for process in self.processes if process.number == self.leader(name, index)]
        return random.choice(found) if found else None

    def leader(self, name: str, index: int) -> int:
        """Return the number of the node that leads a partition."""
        return self._leaders[name, index]

    def produce(self, random: Random) -> None:
        """Send a record of a producer."""
        producer = random.choice(self.producers)
        if producer.at not in self.processes or producer.is_broken:
            self._attach(producer, self.find(random, *producer.place))
        if producer.at is None or len(producer.unresolved) >= UNRESOLVED_MAX:
            return
        self.bodies += 1
        body = b"<%d>" % self.bodies + b"x" * random.choice([10, 10, 5_000])
        sent = Sent(*producer.place, body, producer.sequence)
        producer.sequence += 1
        producer.unresolved.append(sent)
        producer.at.produce(producer.producer_id, sent)

    def reattach(self, random: Random) -> None:
        """Have a producer go to another process, as after a time-out."""
        producer = random.choice(self.producers)
        if random.random() < 0.3:
            self._attach(producer, self.find(random, *producer.place))

    def _attach(self, producer: Producer, process: NodeProcess | None) -> None:
        producer.at, producer.is_broken = process, False
        if process is not None:
            for sent in list(producer.unresolved):
                process.produce(producer.producer_id, sent)

    def hear(self) -> None:
        """Take all answers to producers."""
        for process in self.processes:
            for producer in self.producers:
                for sent, error, offset in process.answers(producer.producer_id):
                    self._answered(producer, sent, error, offset)

    def _answered(self, producer: Producer, sent: Sent, error: int, offset: int) -> None:
        if error != ErrorCode.NONE:
            producer.is_broken = True
            return
        acked = Acked((sent.name, sent.partition), offset)
        assert self.acked.setdefault(sent.body, acked) == acked, "one record, two offsets"
        assert self.by_offset.setdefault(acked, sent.body) == sent.body, "one offset, two records"
        if sent in producer.unresolved:
            producer.unresolved.remove(sent)

    # --- what must be true -----------------------------------------------------------------------------

    def check(self) -> None:
        """Look at what the store has."""
        self.hear()
        inside, self.inside = self.inside, True
        check(self)
        self.inside = inside

    def end(self) -> None:
        """Have successors of all go on, all late requests land, and all clients end what they began."""
        self.starting.clear()
        for number in range(COUNT):
            disk = MemoryDisk()
            for _ in self.restore(number, disk):
                pass
            for process in [process for process in self.processes if process.number == number]:
                if process.is_stopped:
                    self._end(process, None)
            self._make(number, disk)
            self._settle(lambda: not self.starting)
        self.objects.land_late()
        self._settle(self._has_ended)
        self.check()
        assert self._has_ended(), "all can be sent again"

    def _has_ended(self) -> bool:
        self.retire(self.random)
        self.hear()
        for producer in self.producers:
            if producer.unresolved and (producer.at not in self.processes or producer.is_broken):
                self._attach(producer, self.find(self.random, *producer.place))
        return not any(producer.unresolved for producer in self.producers)
