"""The nodes of the cluster: their addresses, and which of them leads a partition. The one place that knows.

A node leads the partitions on the vnodes that are placed on it, and coordinates what is kept in them: a group
belongs to the leader of its partition of `__consumer_offsets`. Vnode v of any database is placed on node v
modulo their number. The first one is the controller: it alone changes the catalogue.

The nodes of one data directory are workers: processes with consecutive ids and ports. Those of several
machines have a directory each, and tell each other their addresses (broker/catalogue/members.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from broker.catalogue.members import Members
from broker.catalogue.moves import Listener, Moves, News
from broker.catalogue.peers import NoPeers, Peers
from broker.catalogue.topic import Topic

if TYPE_CHECKING:
    from broker.security.node_greeting import Greeter

NO_EPOCH: Final = -1
"""The leader epoch of a partition whose leader has not told it yet."""

NO_CONTROLLER: Final = -1
"""Stands for a controller that is away: clients ask again.

Source: NO_CONTROLLER_ID of Kafka's MetadataResponse.
"""


def node_of_vnode(vnode: int, count: int) -> int:
    """Return the number of the node, of so many, on which a vnode of any database is placed."""
    return vnode % count


class Node(NamedTuple):
    """A node, as a client reaches it."""

    node_id: int
    host: str
    port: int


class Client(Protocol):
    """A connection, as far as it matters where its client finds the nodes."""

    @property
    def advertised(self) -> tuple[str, int]:
        """The address by which it knows this node."""

    @property
    def listener(self) -> str:
        """The name of the listener that it came to."""


class Nodes:
    """All nodes, as seen by one of them: node `number` of `count`, whose id is `own_id`."""

    def __init__(
        self,
        own_id: int,
        *,
        number: int = 0,
        count: int = 1,
        peers: Peers | None = None,
        members: Members | None = None,
        greeter: Greeter | None = None,
        cluster_id: str = "",
        link_counts: Callable[[int], tuple[int, int]] = lambda _node_id: (0, 0),
    ) -> None:
        """`members` are those of several machines; None: they are workers, or this node is alone.

        `greeter` knows the other nodes that come, and `cluster_id` is that of the cluster which this one
        joins for the first time.
        """
        assert 0 <= number < count, (number, count)
        self.own_id = own_id
        self.number = number
        self.count = count
        self.peers: Peers = peers or NoPeers()
        """The way to the other nodes."""
        self.link_counts: Final = link_counts
        """Returns, for another node, the connections made to it and the requests that got no answer."""
        self.members = members
        self.greeter = greeter
        self.cluster_id = cluster_id
        self.moves: Final = Moves()
        self._epochs = [NO_EPOCH] * count
        self.answered: dict[int, int] = {}
        """At the controller: the version of the catalogue up to which it has told each node itself."""

    @property
    def has_own_directory(self) -> bool:
        """Whether this node's logs lie in a directory of its own, which it shares with no worker."""
        return self.count == 1 or self.members is not None

    @property
    def controller_id(self) -> int:
        """The node that changes the catalogue."""
        return self.own_id - self.number

    @property
    def is_controller(self) -> bool:
        """Whether it is this one."""
        return not self.number

    @property
    def ids(self) -> range:
        """The ids of all nodes."""
        return range(self.controller_id, self.controller_id + self.count)

    @property
    def epochs(self) -> list[int]:
        """The leader epoch of each node, in the order of their ids, as far as it is known here.

        Each start of one of several nodes begins one (broker/storage/node_epoch.py).  It tells the others
        (broker/upkeep/following.py); until they know, they have an older one, as of metadata that is stale.
        """
        return self._epochs[:]

    def epoch_of(self, node_id: int) -> int:
        """Return the leader epoch of a node, or NO_EPOCH."""
        return self._epochs[node_id - self.controller_id]

    def note_epoch(self, node_id: int, epoch: int) -> bool:
        """Learn from a node itself which leader epoch it has; return whether that is news."""
        is_news = self.epoch_of(node_id) != epoch
        self._epochs[node_id - self.controller_id] = epoch
        return is_news

    def note_epochs(self, epochs: Sequence[int]) -> None:
        """Learn from the controller which leader epochs the other nodes have."""
        for node_id, epoch in zip(self.ids, epochs, strict=True):
            if node_id != self.own_id:
                self.note_epoch(node_id, epoch)

    def seen_at(self, client: Client) -> list[Node]:
        """Return all nodes that are there, as a client reaches them."""
        return [node for node_id in self.ids if (node := self.node_at(node_id, client)) is not None]

    def controller_among(self, nodes: Iterable[Node]) -> int:
        """Return the controller's id for a client that reaches these nodes; NO_CONTROLLER: not that one."""
        return next((node.node_id for node in nodes if node.node_id == self.controller_id), NO_CONTROLLER)

    def node_at(self, node_id: int, client: Client) -> Node | None:
        """Return a node as a client reaches it; None: it is away, or not to be reached by that listener."""
        host, port = client.advertised
        if self.members is None or node_id == self.own_id:
            return Node(node_id, host, port + node_id - self.own_id)
        address = self.members.address(node_id - self.controller_id, client.listener)
        return None if address is None else Node(node_id, *address)

    def away_from(self, client: Client) -> frozenset[int]:
        """Return the ids of the nodes that a client cannot reach, as far as is known."""
        if self.members is None:
            return frozenset()
        return frozenset(node_id for node_id in self.ids if self.node_at(node_id, client) is None)

    def fenced_for(self, client: Client) -> list[Node]:
        """Return the nodes that are away, at their last addresses; port -1: the address is unknown."""
        found = []
        for node_id in sorted(self.away_from(client)):
            assert self.members is not None, "workers are never away"
            address = self.members.last_address(node_id - self.controller_id, client.listener)
            found.append(Node(node_id, *(address or ("", -1))))
        return found

    def news_for(self, connection: Listener, node_id: int, now_ms: int) -> News:
        """Return, once for each connection, that a node serves at another address than before."""
        if self.members is not None:
            for number in self.members.take_moved():
                self.moves.note(self.controller_id + number, now_ms)
        return self.moves.news_for(connection, node_id, now_ms)

    def is_there(self, node_id: int) -> bool:
        """Whether a node is there, as far as is known; a worker that is not is about to start again."""
        return self.members is None or self.members.is_there(node_id - self.controller_id)

    def leads(self, vnode: int) -> bool:
        """Whether this node leads the partitions on the vnode of this number, of any database."""
        return node_of_vnode(vnode, self.count) == self.number

    def led(self, vnode_count: int) -> range:
        """Return the numbers of the vnodes that this node leads, of a database with so many."""
        return range(self.number, vnode_count, self.count)

    def kept(self, vnode_count: int) -> range:
        """Return the numbers of the vnodes whose directories this node makes and removes."""
        return self.led(vnode_count) if self.has_own_directory else range(vnode_count)

    @property
    def makes_directories(self) -> bool:
        """Whether directories are made here for what another node has recorded."""
        return self.has_own_directory and not self.is_controller

    def leader_of_vnode(self, vnode: int) -> int:
        """Return the node that leads the partitions on a vnode."""
        return self.controller_id + node_of_vnode(vnode, self.count)

    def leader(self, topic: Topic, index: int, source: Callable[[Topic], Topic | None]) -> int:
        """Return the node that leads a partition; `source(view)` returns what a view shows, None: a database.

        A partition of a view is led by the node that has the records it shows.
        """
        if self.count == 1:
            return self.own_id
        stored = source(topic)
        return self.leader_of_vnode(index if stored is None else stored.vnode_index(index))
