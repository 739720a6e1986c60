"""Several nodes on a simulated disk and clock; they reach each other without sockets.

They share one data directory, as workers do, or have a disk each, as nodes of several machines.

    cluster = Cluster(3)
    client = cluster[1].client()
    answer = cluster.call(client, MetadataRequest(topics=None), 12)

`settle` runs all nodes until nothing is left to do, and passes the catalogue's records on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from broker.catalogue.members import Members
from broker.catalogue.nodes import Nodes
from broker.core import Broker
from broker.loop.slices import run_here
from broker.start import open_broker
from broker.upkeep.absences import Absences
from broker.upkeep.following import Following
from broker.upkeep.member_states import note_states
from protocol.messages.kawal_follow import KawalFollowRequest
from tests.broker.gateway import Client, Gateway
from wal.memory_disk import MemoryDisk

BASE_PORT = 9092

UNSENT, UNANSWERED, REPEATED, LATE = "unsent", "unanswered", "repeated", "late"


class ClusterClient(Client):
    """A client of one node, by which the others know its addresses, too."""

    def __init__(self, gateway: NodeGateway, host: str = "10.0.0.9") -> None:
        super().__init__(gateway, host)
        self.connection.advertised = ("gateway", BASE_PORT + gateway.number)
        self.connection.listener = "PLAINTEXT"
        self._cluster = gateway.cluster

    def call(self, request: Any, version: int) -> Any:
        return self._cluster.call(self, request, version)


class NodeGateway(Gateway):
    """One node and the world around it."""

    def __init__(self, cluster: Cluster, number: int, **settings: Any) -> None:
        self.cluster, self.number = cluster, number
        self.lost: list[str] = []
        """Why it cannot go on, if it cannot."""
        disk = MemoryDisk() if cluster.own_directories and number else cluster.disk
        super().__init__(disk, node_id=number, **settings)

    def client(self, host: str = "10.0.0.9") -> Client:
        return ClusterClient(self, host)

    def _open(self) -> Broker:
        records, cluster_id = list[bytes](), ""
        version = newest = -1
        if self.number:
            answer = self.cluster.ask(0, KawalFollowRequest(version=-1), 0)
            assert not answer.error_code
            records, version, newest = answer.records, answer.next_version, answer.newest
            cluster_id = self.cluster.nodes[0].broker.cluster_id
        self.link = Link(self.cluster, self.number)
        nodes = Nodes(
            self.number,
            number=self.number,
            count=self.cluster.count,
            peers=self.link,
            members=self._members(),
            cluster_id=cluster_id if self.cluster.own_directories else "",
        )
        broker = open_broker(
            self.disk,
            replace(self.config, node_id=self.number),
            random=Random(self.now_ms + self._starts + (self.number << 48)),
            now_ms=self.now_ms,
            wall_ms=self.now_ms + self.wall_ahead_ms,
            offload=self.cluster.offload,
            nodes=nodes,
            records=records,
        )
        self._starts += 1
        if self.cluster.own_directories:
            broker.clock.turn_ms = self.now_ms
            if self.number:
                note_states(nodes, answer.members)
            else:
                Absences(broker, nodes, broker.metadata_log.resume)
        if self.number:
            broker.clock.turn_ms = self.now_ms
            self.following = Following(broker, broker, nodes, version, self.lost.append, newest)
        return broker

    def _members(self) -> Members | None:
        if not self.cluster.own_directories:
            return None
        address = ("gateway", BASE_PORT + self.number)
        return Members(self.number, self.cluster.count, {"PLAINTEXT": address})


class Link:
    """The way of one node to the others: what it sends arrives in a later turn, unless the node is down.

    What a process has sent arrives although it is killed; the answer does not.
    """

    def __init__(self, cluster: Cluster, number: int) -> None:
        self._cluster = cluster
        self._number = number
        self.alive = True

    def call(self, node_id: int, request: Any, version: int, done: Callable[[Any | None], None]) -> None:
        def answered(response: Any | None) -> None:
            if self.alive:
                done(response)

        if frozenset({self._number, node_id}) in self._cluster.cut:
            self._cluster.unsent.append(answered)
        else:
            self._cluster.sent.append((node_id, request, version, answered))


class Cluster:
    """Some nodes; all settings are those of the gateway."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        """All settings are those of the gateway, but for `disk`: one on which other nodes have worked.

        With `own_directories=True` the nodes are those of several machines, and the disk is that of node 0.
        """
        self.count = count
        self.own_directories: bool = settings.pop("own_directories", False)
        self.cut: set[frozenset[int]] = set()
        """Pairs of nodes between which nothing arrives from now on."""
        self.unsent: list[Callable[[Any | None], None]] = []
        self.disk: MemoryDisk = settings.pop("disk", None) or MemoryDisk()
        self.sent: list[tuple[int, Any, int, Callable[[Any | None], None]]] = []
        self.waiting: dict[int, list[tuple[Client, Callable[[Any | None], None]]]] = {}
        self.down: set[int] = set()
        self.hung: set[int] = set()
        """Nodes that do nothing now; what is sent to them arrives later."""
        self.mishaps: deque[str] = deque()
        """What happens to the next requests between nodes: "" nothing, UNSENT, UNANSWERED, REPEATED or LATE.

        One that is late is not answered either, and arrives with `deliver_late`.
        """
        self.late: list[tuple[int, Any, int]] = []
        self.nodes: list[NodeGateway] = []
        for number in range(count):
            self.nodes.append(NodeGateway(self, number, **{"kawal_vnodes": 2 * count, **settings}))

    def __getitem__(self, number: int) -> NodeGateway:
        return self.nodes[number]

    def __iter__(self) -> Iterator[NodeGateway]:
        return iter(self.nodes)

    def offload(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        """Do the work of a node's thread."""
        run_here(work, done)

    def ask(self, number: int, request: Any, version: int) -> Any:
        """Send a request to a node as one of its cluster, and return the answer."""
        client = self._peer_of(number)
        client.send(request, version)
        node = self.nodes[number]
        while not (answers := client.answers()):
            assert node.run_jobs() or node.broker.scheduler.pending, f"no answer to {request}"
            node.broker.scheduler.run()
        return answers[0]

    def _peer_of(self, number: int) -> Client:
        client = Client(self.nodes[number])
        client.connection.from_peer = True
        return client

    def settle(self) -> None:
        """Run all nodes, and what they say to each other, until nothing is left to do."""
        while True:
            for node in self._up():
                node.settle()
            if not (self._deliver() | self._collect()):
                return

    def _up(self) -> list[NodeGateway]:
        return [node for node in self.nodes if node.number not in self.down | self.hung]

    def _deliver(self) -> bool:
        unsent, self.unsent = self.unsent, []
        for answered in unsent:
            answered(None)
        sent = [item for item in self.sent if item[0] not in self.hung]
        self.sent = [item for item in self.sent if item[0] in self.hung]
        for node_id, request, version, done in sent:
            mishap = self.mishaps.popleft() if self.mishaps else ""
            if node_id in self.down or mishap in (UNSENT, LATE):
                if mishap == LATE:
                    self.late.append((node_id, request, version))
                done(None)
                continue
            client = self._peer_of(node_id)
            client.send(request, version)
            if mishap == REPEATED:
                self._peer_of(node_id).send(request, version)
            if mishap == UNANSWERED:
                done(None)
                continue
            self.waiting.setdefault(node_id, []).append((client, done))
        return bool(sent or unsent)

    def deliver_late(self) -> None:
        """Deliver what was late, to the nodes that are up."""
        late, self.late = self.late, []
        for node_id, request, version in late:
            if node_id not in self.down | self.hung:
                self._peer_of(node_id).send(request, version)
        self.settle()

    def _collect(self) -> bool:
        found = False
        for node_id, waiting in self.waiting.items():
            for item in list(waiting):
                client, done = item
                if node_id in self.down:
                    waiting.remove(item)
                    done(None)
                elif answers := client.answers():
                    waiting.remove(item)
                    client.close()
                    done(answers[0])
                    found = True
        return found

    def call(self, client: Client, request: Any, version: int, *, within_ms: int = 0) -> Any:
        """Send a request, settle the cluster, for some time if need be, and return the one answer."""
        client.send(request, version)
        self.settle()
        answers = client.answers()
        while not answers and within_ms > 0:
            self.advance(50)
            within_ms -= 50
            answers = client.answers()
        assert len(answers) == 1, f"{len(answers)} answers to one request"
        return answers[0]

    def advance(self, duration_ms: int) -> None:
        """Let time pass on all nodes."""
        for node in self._up():
            node.advance(duration_ms)
        self.settle()

    def kill(self, number: int) -> None:
        """End a node's process without a trace; the disk keeps what was written."""
        self.down.add(number)
        self.nodes[number].link.alive = False
        if self.own_directories:
            self.nodes[number].broker.store.release()

    def revive(self, number: int) -> None:
        """Start a node again."""
        self.down.discard(number)
        node = self.nodes[number]
        node.now_ms = max(other.now_ms for other in self.nodes)
        node.broker = node._start()
        self.settle()

    def wake(self, number: int) -> None:
        """Let a node go on that had hung; first it hears what was sent meanwhile."""
        self.hung.discard(number)
        node = self.nodes[number]
        node.advance(max(other.now_ms for other in self.nodes) - node.now_ms)
        self.settle()
