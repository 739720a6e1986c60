"""Nodes with directories of their own in the simulation, and the way of requests between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from broker.catalogue.members import Members as Listeners
from broker.catalogue.nodes import Nodes
from broker.core import Broker
from broker.start import open_broker
from broker.upkeep.absences import Absences
from broker.upkeep.following import Following
from protocol.messages.kawal_follow import KawalFollowRequest, KawalFollowResponse
from tests.broker.gateway import Client, Gateway
from wal.memory_disk import MemoryDisk

COUNT = 2
TRIES = 40

Done = Callable[[Any | None], None]


class Message(NamedTuple):
    """A request of a node, on its way to an address."""

    sender: NodeGateway
    address: str
    request: Any
    version: int
    done: Done


class Net:
    """The requests on their way between nodes; `gateways` are the processes that are reached, by address."""

    def __init__(self) -> None:
        self.gateways: dict[str, NodeGateway] = {}
        self.sent: list[Message] = []
        self._waiting: list[tuple[NodeGateway, Client, Message]] = []

    def deliver(self, message: Message, *, answers: bool = True) -> None:
        """Have a request arrive; an answer comes back unless the connection is cut."""
        self.sent.remove(message)
        target = self.gateways.get(message.address)
        if target is None:
            self._tell(message, None)
            return
        client = peer_of(target)
        client.send(message.request, message.version)
        if answers:
            self._waiting.append((target, client, message))
        else:
            self._tell(message, None)

    def lose(self, message: Message) -> None:
        """Have a connection end before the request arrives."""
        self.sent.remove(message)
        self._tell(message, None)

    def collect(self) -> bool:
        """Pass on the answers that are there; return whether there were any."""
        found = False
        for item in list(self._waiting):
            target, client, message = item
            is_alive = target in self.gateways.values()
            answers = client.answers() if is_alive else [None]
            if answers:
                self._waiting.remove(item)
                self._tell(message, answers[0])
                found = True
        return found

    def _tell(self, message: Message, answer: Any | None) -> None:
        if message.sender in self.gateways.values():
            message.sender.broker.clock.turn_ms = message.sender.now_ms
            message.done(answer)

    def settle(self) -> None:
        """Have all that is on its way arrive, and all nodes do what they can, for a second."""
        for _ in range(TRIES):
            for gateway in list(self.gateways.values()):
                gateway.advance(25)
                gateway.settle()
            for message in list(self.sent):
                self.deliver(message)
            for gateway in list(self.gateways.values()):
                gateway.settle()
            self.collect()


class NodeGateway(Gateway):
    """One process of a node."""

    def __init__(
        self,
        net: Net,
        number: int,
        disk: MemoryDisk,
        *,
        name: str,
        start_ms: int,
        catalogue: tuple[str, KawalFollowResponse] | None,
        find: Callable[[int], str],
        **settings: Any,
    ) -> None:
        """`catalogue` is the controller's, with the cluster's id; `find(number)` returns a node's address."""
        self.net, self.number, self.name = net, number, name
        self._catalogue, self._find = catalogue, find
        self.lost: list[str] = []
        """Why it must begin anew, if it must."""
        super().__init__(disk, start_ms=start_ms, node_id=number, **settings)

    def call(self, node_id: int, request: Any, version: int, done: Done) -> None:
        """Send a request to another node."""
        self.net.sent.append(Message(self, self._find(node_id), request, version, done))

    def _open(self) -> Broker:
        cluster_id, answer = self._catalogue or ("", KawalFollowResponse(records=[]))
        self.nodes = Nodes(
            self.number,
            number=self.number,
            count=COUNT,
            peers=self,
            members=Listeners(self.number, COUNT, {"PLAINTEXT": (self.name, 9092)}),
            cluster_id=cluster_id,
        )
        self._version, self._newest = answer.next_version, answer.newest
        return open_broker(
            self.disk,
            replace(self.config, node_id=self.number),
            random=Random(self.now_ms + (self.number << 48)),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            nodes=self.nodes,
            records=answer.records,
        )

    def begin(self) -> None:
        """Serve: be reached from now on, and follow the controller."""
        self.net.gateways[self.name] = self
        self.broker.clock.turn_ms = self.now_ms
        if self.number:
            Following(self.broker, self.broker, self.nodes, self._version, self.lost.append, self._newest)
        else:
            Absences(self.broker, self.nodes, self.broker.metadata_log.resume)


def peer_of(gateway: Gateway) -> Client:
    """Return a connection of another node."""
    client = Client(gateway)
    client.connection.from_peer = True
    return client


def whole_catalogue(gateway: Gateway, go_on: Callable[[], None]) -> tuple[str, KawalFollowResponse] | None:
    """Ask a controller for its catalogue; None if it does not answer soon.  `go_on` has it do some work."""
    client = peer_of(gateway)
    client.send(KawalFollowRequest(version=-1), 0)
    for _ in range(TRIES):
        answers = client.answers()
        if answers:
            assert not answers[0].error_code
            return gateway.broker.cluster_id, answers[0]
        go_on()
    return None
