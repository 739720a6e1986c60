"""The nodes of the cluster: their addresses, and which of them leads a partition. The one place that knows.

A node leads the partitions on the vnodes that are placed on it, and coordinates what is kept in them: a group
belongs to the leader of its partition of `__consumer_offsets`. The nodes of one data directory are workers:
processes with consecutive ids and ports. Vnode v of any database is placed on worker v modulo their number.
The first one is the controller: it alone changes the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from broker.catalogue.peers import NoPeers, Peers
from broker.catalogue.topic import Topic

NO_EPOCH: Final = -1
"""The leader epoch of a partition whose leader has not told it yet."""


class Node(NamedTuple):
    """A node, as a client reaches it."""

    node_id: int
    host: str
    port: int


class Nodes:
    """All nodes, as seen by one of them: worker `number` of `count`, whose id is `own_id`."""

    def __init__(self, own_id: int, *, number: int = 0, count: int = 1, peers: Peers | None = None) -> None:
        assert 0 <= number < count, (number, count)
        self.own_id = own_id
        self.number = number
        self.count = count
        self.peers: Peers = peers or NoPeers()
        """The way to the other nodes."""
        self._epochs = [NO_EPOCH] * count

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

    def seen_at(self, advertised: tuple[str, int]) -> list[Node]:
        """Return all nodes for a client to which this one has the address `advertised`."""
        host, port = advertised
        return [Node(node_id, host, port + node_id - self.own_id) for node_id in self.ids]

    def leads(self, vnode: int) -> bool:
        """Whether this node leads the partitions on the vnode of this number, of any database."""
        return vnode % self.count == self.number

    def led(self, vnode_count: int) -> range:
        """Return the numbers of the vnodes that this node leads, of a database with so many."""
        return range(self.number, vnode_count, self.count)

    def leader_of_vnode(self, vnode: int) -> int:
        """Return the node that leads the partitions on a vnode."""
        return self.controller_id + vnode % self.count

    def leader(self, topic: Topic, index: int, source: Callable[[Topic], Topic | None]) -> int:
        """Return the node that leads a partition; `source(view)` returns what a view shows, None: a database.

        A partition of a view is led by the node that has the records it shows.
        """
        if self.count == 1:
            return self.own_id
        stored = source(topic)
        return self.leader_of_vnode(index if stored is None else stored.vnode_index(index))
