"""The settings by which groups read, on a leader of partitions: other nodes coordinate most groups.

    fetch --> is it known for which groups its client reads? --yes--> read
                 | no                                           ^
                 `--> ask the coordinators of groups with such settings, and all nodes about a member

A member fetches a partition only after its coordinator has given it the partition.  So it is enough to ask
after a fetch has come that may be the first one:

- the first of a client over a connection;
- one that names a partition which the client does not have, if it is a member or was one on this connection:
  in a session a partition is named when it is added.

What counts is the answer to a question that was sent after the fetch came.  So settings are in effect from
the first fetch after a rebalance on, and a coordinator waits for no leader.  Once a second the coordinators
are asked whether their groups have changed, and then what was known is asked for again.  Until then settings
stay in effect for a consumer that leaves its group and reads on over the same connection, and are not yet in
effect for one that has read without such a group and joins one.

While a coordinator is silent, what is known stays in effect.  A fetch that needs its answer waits, and is
answered without records at the end of its time; after 30 s of silence fetches go on without it, as after a
start (member_reads.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.member_reads import LOAD_WAIT_MS, MemberReads, Place, Reads
from broker.coordinators.node_reads import NodeReads, Told
from broker.coordinators.own_reads import OwnReads
from broker.coordinators.remembered import Key, Remembered
from broker.loop.latch import Latch
from broker.loop.slices import ITEMS_PER_SLICE

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.loop.call import Call
    from broker.loop.loop import Loop
    from broker.loop.slices import Until
    from groups.topics import Client
    from protocol.messages.fetch import FetchRequest

LOOK_MS: Final = 1_000
"""The pause between two questions for changes."""

ALONE_MS: Final = 1_000
"""The time for which a node that coordinates no group with settings is waited for."""

READERS_MAX: Final = 20_000
"""The clients of connections that are remembered, at 250 bytes each; others count as new."""

LEAST_WAIT_MS: Final = 500
"""The time that a fetch waits for an answer, if it has less time itself."""


class Reader(NamedTuple):
    """A client on one connection."""

    since: int
    """The moment after which a question must have been sent that told of it."""
    was_member: bool


class Known(NamedTuple):
    """The groups of a client, made of all that was told of it and of its groups here."""

    state: tuple[object, ...]
    reads: Reads
    places: frozenset[Place]
    """The partitions that it has for any group, as far as nodes tell all."""
    is_member: bool
    """Whether it is a member of a group with settings."""


NOTHING: Final = Known((), {}, frozenset(), False)


class ClusterReads(MemberReads):
    """The settings of all groups, and the clients they are for, on one of several nodes."""

    def __init__(self, metadata: Metadata, loop: Loop, groups: Callable[[], Groups], now_ms: int) -> None:
        super().__init__(metadata, loop, groups, now_ms)
        self.own: Final = OwnReads(metadata, loop)
        """The answers to other nodes."""
        self._moments = count(1)
        self._readers: OrderedDict[tuple[int, int], Reader] = OrderedDict()
        self._told: Remembered[dict[int, Told]] = Remembered()
        self._made: Remembered[Known] = Remembered()
        self._waiting: dict[Key, list[Latch[None]]] = {}
        self._settled = 0
        """The moment before which all that was told is void: other groups had settings."""
        self._deciding: frozenset[int | None] = frozenset()
        """The nodes that coordinate groups with settings."""
        self._looks = False
        self._nodes: Final = {
            node_id: NodeReads(metadata, loop, node_id, self._moments, self._waiting.__contains__, self._take)
            for node_id in metadata.nodes.ids
            if node_id != metadata.nodes.own_id
        }

    # --- for which groups a fetch is -------------------------------------------------------------------

    def is_unknown(self, call: Call[FetchRequest]) -> bool:
        """Whether it must be found out for which groups a fetch is."""
        if super().is_unknown(call):
            return True
        client, identity = _client_of(call), _identity_of(call)
        known, reader = self._known(client), self._readers.get(identity)
        if reader is None or (
            (reader.was_member or known.is_member) and self._names_others(known, call.request)
        ):
            was_member = known.is_member if reader is None else True
            reader = Reader(next(self._moments), was_member)
            self._remember(identity, reader)
        elif known.is_member and not reader.was_member:
            self._readers[identity] = reader._replace(was_member=True)
        return bool(self._lacking(_key_of(client), known, self._needed(reader)))

    def _needed(self, reader: Reader) -> dict[int, int]:
        """Return, for each node, the moment after which a question must have been sent."""
        since = max(reader.since, self._settled)
        return {node_id: max(since, node.changed) for node_id, node in self._nodes.items()}

    def _remember(self, identity: tuple[int, int], reader: Reader) -> None:
        if len(self._readers) >= READERS_MAX and identity not in self._readers:
            self._readers.popitem(last=False)
        self._readers[identity] = reader
        if not self._looks:
            self._looks = True
            self._look_later()

    def learn(self, call: Call[FetchRequest], until_ms: int) -> Generator[Until | None, None, bool]:
        """Find out for which groups a fetch is; return whether that is known in time."""
        if not (yield from super().learn(call, until_ms)):
            return False
        client, identity = _client_of(call), _identity_of(call)
        key, reader = _key_of(client), self._readers.get(identity)
        if reader is None:
            reader = Reader(next(self._moments), False)
            self._remember(identity, reader)
        # Changes that come after the fetch keep it waiting no longer.
        needed = self._needed(reader)
        until_ms = max(until_ms, call.received_ms + LEAST_WAIT_MS)
        while lacking := self._lacking(key, known := self._known(client), needed):
            if self._loop.clock.turn_ms >= until_ms:
                return False
            told: Latch[None] = Latch()
            self._waiting.setdefault(key, []).append(told)
            try:
                for node_id in lacking:
                    self._nodes[node_id].ask(key, since=needed[node_id], every=known.is_member)
                yield from told.wait(self._loop.timers, until_ms)
            finally:
                self._waits_no_more(key, told)
        return True

    def _waits_no_more(self, key: Key, told: Latch[None]) -> None:
        waiting = self._waiting[key]
        waiting.remove(told)
        if not waiting:
            del self._waiting[key]

    def _lacking(self, key: Key, known: Known, needed: Mapping[int, int]) -> list[int]:
        """Return the nodes that must tell of a client and have not, since a moment for each."""
        told = self._told.get(key) or {}
        lacking: list[int] = []
        for node_id, node in self._nodes.items():
            decides = node_id in self._deciding
            if not (decides or known.is_member):
                continue
            found = told.get(node_id)
            is_told = (
                found is not None and found.moment >= needed[node_id] and (found.every or not known.is_member)
            )
            if not is_told and node.silent_ms <= (LOAD_WAIT_MS if decides else ALONE_MS):
                lacking.append(node_id)
        return lacking

    def _names_others(self, known: Known, request: FetchRequest) -> bool:
        """Whether a fetch names a partition that its client does not have, or may begin a snapshot of one."""
        if sum(len(topic.partitions) for topic in request.topics) > ITEMS_PER_SLICE:
            return True
        catalogue = self._metadata.catalogue
        for asked in request.topics:
            topic = catalogue.find(asked.topic) if asked.topic else catalogue.find_id(asked.topic_id)
            if topic is None:
                continue
            for partition in asked.partitions:
                place = topic.topic_id, partition.partition
                if place not in known.places:
                    return True
                read = known.reads.get(place)
                if read is not None and read.settings.begins_with_snapshot and read.positions is not None:
                    here = self._metadata.topics.here(topic, partition.partition)
                    if here is None or partition.fetch_offset <= here.log_start:
                        # Whether it begins with a snapshot depends on its progress now.
                        return True
        return False

    # --- what nodes tell -------------------------------------------------------------------------------

    def _take(self, node_id: int, key: Key, told: Told) -> None:
        by_node = self._told.get(key) or {}
        by_node[node_id] = told
        self._told.put(key, by_node)
        for latch in self._waiting.get(key, ()):
            latch.set(None)

    def _look_later(self) -> None:
        self._loop.timers.add(self._loop.clock.turn_ms + LOOK_MS, self._look)

    def _look(self, _now_ms: int) -> None:
        """Ask whether groups have changed, as long as groups have settings."""
        self._looks = self.is_used and not self._loop.stopping
        if not self._looks:
            self._readers.clear()
            self._told.clear()
            self._made.clear()
            return
        for node_id, node in self._nodes.items():
            if node_id in self._deciding or node.silent_ms:
                node.look()
        self._look_later()

    # --- what is made of it ----------------------------------------------------------------------------

    def of(self, client: Client) -> Reads:
        """Return the partitions that the client reads for a group with such settings."""
        return self._known(client).reads

    def _known(self, client: Client) -> Known:
        if not self._has_groups():
            return NOTHING
        key = _key_of(client)
        told = self._told.get(key) or {}
        with self._groups().step(self._loop.clock.turn_ms) as coordinator:
            moments = tuple(each.moment for each in told.values())
            state = self._changes, coordinator.membership_changes, moments
            known = self._made.get(key)
            if known is not None and known.state == state:
                return known
            held = coordinator.fetched_by(client, self._settings.keys())
            is_member = bool(held) or any(
                not self._settings.keys().isdisjoint(each.groups) for each in told.values()
            )
            if is_member:
                held = coordinator.fetched_by(client)
        positions: dict[str, dict[Place, int | None]] = {}
        for each in told.values():
            for group_id, places in each.groups.items():
                held.setdefault(group_id, set()).update(places)
                positions.setdefault(group_id, {}).update(places)
        reads = {
            # The progress of groups here is looked up when it is wanted.
            place: read._replace(positions=positions.get(read.group_id))
            for place, read in self._reads(client, held if is_member else {}).items()
        }
        known = Known(state, reads, frozenset().union(*held.values()), is_member)
        self._made.put(key, known)
        return known

    def _refresh(self) -> None:
        before = self._settings
        super()._refresh()
        if self._settings != before:
            self._settled = next(self._moments)
        if self._settings != before or None in self._deciding:
            coordinator = self._metadata.topics.coordinator
            self._deciding = frozenset(coordinator(OFFSETS_TOPIC, group_id) for group_id in self._settings)


def _client_of(call: Call[Any]) -> Client:
    from broker.coordinators.groups import client_of

    return client_of(call)


def _key_of(client: Client) -> Key:
    return client.host, client.client_id


def _identity_of(call: Call[Any]) -> tuple[int, int]:
    # Not the id itself: a client may send many long ones.
    return call.connection.identity, hash(call.client_id or "")
