"""The coordinators of a node, each made at its first use, so that a node without groups starts sooner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from broker.coordinators.member_reads import MemberReads
from broker.loop.loop import Loop
from broker.loop.slices import WaitingSteps, in_thread
from broker.storage.transaction_guards import TransactionGuards

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.producer_ids import ProducerIds
    from broker.coordinators.groups import Groups
    from broker.coordinators.markers import Markers, MarkerWriter
    from broker.coordinators.remote_transactions import RemoteTransactions
    from broker.coordinators.runtime import CoordinatorRuntime
    from broker.coordinators.shares import Shares
    from broker.coordinators.transactions import Transactions
    from groups.share.state_records import ShareKey


class Coordinators(Protocol):
    """Access to the coordinators, for code that needs nothing else of the broker."""

    @property
    def groups(self) -> Groups:
        """The group coordinator, loading if this is its first use."""

    @property
    def transactions(self) -> Transactions:
        """The transaction coordinator, loading if this is its first use."""


class LetterWriter(Protocol):
    """The writer of dead letters."""

    def write_letters(self, keys: Collection[ShareKey]) -> None:
        """Have the dead letters of share-partitions written."""


_MODULES: Final = {
    OFFSETS_TOPIC: ("broker.coordinators.groups",),
    TRANSACTIONS_TOPIC: ("broker.coordinators.transactions",),
    # Members of share groups are among the groups, which import what serves them when the first one is met.
    SHARE_STATE_TOPIC: ("broker.coordinators.shares", "groups.share.service"),
}
"""The modules of the coordinators, and what they need, by the topics that hold their state."""


def is_imported() -> bool:
    """Whether the group coordinator can be asked for without an import that takes long."""
    return _MODULES[OFFSETS_TOPIC][0] in sys.modules


def import_groups() -> None:
    """Import the group coordinator; any thread may."""
    for module in _MODULES[OFFSETS_TOPIC]:
        import_module(module)


class NodeCoordinators:
    """Makes the coordinators, and passes on events that concern all of them."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        random: Random,
        producer_ids: ProducerIds,
        letters: Callable[[], LetterWriter],
    ) -> None:
        """`letters()` returns what writes the dead letters of share groups."""
        self._metadata = metadata
        self._loop = loop
        self._random = random
        self._producer_ids = producer_ids
        self._letters = letters
        self.guards = TransactionGuards()
        self._groups: Groups | None = None
        self._transactions: Transactions | None = None
        self._shares: Shares | None = None
        self._markers: MarkerWriter | None = None
        self._runtimes: list[CoordinatorRuntime[Any]] = []
        if _MODULES.keys() & metadata.catalogue.by_name.keys():
            # There are groups or transactions: replay them as soon as clients are answered.
            loop.timers.add(loop.clock.turn_ms, lambda _now_ms: loop.scheduler.add_work(self._load()))
        if metadata.nodes.count > 1 and metadata.nodes.is_controller:
            from broker.coordinators.internal_topics import make_topics

            loop.timers.add(loop.clock.turn_ms, lambda now_ms: make_topics(metadata, loop, now_ms))

    @property
    def now_ms(self) -> int:
        """The monotonic time of the present turn."""
        return self._loop.clock.turn_ms

    @property
    def transaction_max_partitions(self) -> int:
        """The most partitions of a transaction."""
        return self._metadata.live_config.current.kawal_transaction_max_partitions

    def _load(self) -> WaitingSteps:
        """Begin to load the coordinators that have state; a thread imports them, which takes 0.1 s."""
        known = self._metadata.catalogue.by_name
        wanted = [module for topic, modules in _MODULES.items() if topic in known for module in modules]
        yield from in_thread(self._loop.scheduler.offload, lambda: [import_module(name) for name in wanted])
        if OFFSETS_TOPIC in known:
            assert self.groups is not None
        if TRANSACTIONS_TOPIC in known:
            assert self.transactions is not None
        if SHARE_STATE_TOPIC in known:
            assert self.shares is not None

    @property
    def groups(self) -> Groups:
        """The group coordinator."""
        if self._groups is None:
            from broker.coordinators.groups import Groups

            now_ms = self._loop.clock.turn_ms
            self._groups = Groups(self._metadata, self._loop, self._random, now_ms, lambda: self.shares)
            self._runtimes.append(self._groups)
        return self._groups

    @property
    def transactions(self) -> Transactions:
        """The transaction coordinator."""
        if self._transactions is None:
            from broker.coordinators.transactions import Transactions

            self._transactions = Transactions(
                self._metadata, self._loop, self._producer_ids, self._all_markers(), self._loop.clock.turn_ms
            )
            self._runtimes.append(self._transactions)
        return self._transactions

    def transactions_elsewhere(self, transactional_id: str) -> RemoteTransactions | None:
        """Return the coordinator of an id on another node; None if it is this one."""
        nodes = self._metadata.nodes
        if nodes.count == 1:
            return None
        node_id = self._metadata.topics.coordinator(TRANSACTIONS_TOPIC, transactional_id)
        if node_id == nodes.own_id:
            return None
        from broker.coordinators.remote_transactions import RemoteTransactions

        return RemoteTransactions(nodes.peers, node_id)

    @property
    def shares(self) -> Shares:
        """The share coordinator."""
        if self._shares is None:
            from broker.coordinators.shares import Shares

            now_ms = self._loop.clock.turn_ms
            self._shares = Shares(self._metadata, self._loop, now_ms, self._random)
            self._shares.tell_archiving(lambda keys: self._letters().write_letters(keys), now_ms)
            self._runtimes.append(self._shares)
        return self._shares

    @property
    def maybe_transactions(self) -> Transactions | None:
        """The transaction coordinator, if it was used."""
        return self._transactions

    @property
    def maybe_shares(self) -> Shares | None:
        """The share coordinator, if there is a share group, or was one."""
        return self._shares

    @property
    def markers(self) -> MarkerWriter:
        """The writer of transactions' ends to partitions that this node leads."""
        if self._markers is None:
            from broker.coordinators.markers import MarkerWriter

            self._markers = MarkerWriter(self._metadata, self._loop, self.guards, lambda: self.groups)
        return self._markers

    def _all_markers(self) -> Markers:
        """Return the writer of markers to partitions of all nodes."""
        if self._metadata.nodes.count == 1:
            return self.markers
        from broker.coordinators.remote_markers import ClusterMarkers

        return ClusterMarkers(self._metadata, self.markers)

    def reconfigure(self) -> None:
        """Apply settings of the server that have changed."""
        for runtime in self._runtimes:
            runtime.reconfigure()

    def tick(self, now_ms: int) -> None:
        """Let every coordinator do the work that is due."""
        for runtime in self._runtimes:
            runtime.tick(now_ms)

    def next_deadline(self) -> int | None:
        """Return the moment at which `tick` should be called."""
        moments = (runtime.next_deadline() for runtime in self._runtimes)
        return min((moment for moment in moments if moment is not None), default=None)

    def begin_stop(self, now_ms: int) -> None:
        """Refuse the requests that wait in a coordinator, once its records are on the disk."""
        for runtime in self._runtimes:
            runtime.begin_stop(now_ms)


def member_reads(metadata: Metadata, loop: Loop, groups: Callable[[], Groups], now_ms: int) -> MemberReads:
    """Return the settings by which groups read, and the clients they are for, on one of any nodes."""
    if metadata.nodes.count == 1:
        return MemberReads(metadata, loop, groups, now_ms)
    from broker.coordinators.reads_elsewhere import ClusterReads

    return ClusterReads(metadata, loop, groups, now_ms)
