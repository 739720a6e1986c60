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

from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.member_reads import (
    LOAD_WAIT_MS,
    MEMBER_ITEMS,
    READS_BYTES_MAX,
    Followed,
    MemberReads,
    key_of,
)
from broker.coordinators.node_reads import NodeReads, Told
from broker.coordinators.own_reads import OwnReads
from broker.coordinators.read_settings import PLAIN
from broker.coordinators.remembered import Key, Remembered
from broker.loop.latch import Latch
from broker.loop.slices import ITEMS_PER_SLICE, PLAIN_ITEMS_PER_STEP, Pace

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.coordinators.groups import Groups
    from broker.loop.call import Call
    from broker.loop.loop import Loop
    from broker.loop.slices import Until, WaitingSteps
    from groups.clients import MemberId
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


class ClusterReads(MemberReads):
    """The settings of all groups, and the clients they are for, on one of several nodes."""

    def __init__(self, metadata: Metadata, loop: Loop, groups: Callable[[], Groups], now_ms: int) -> None:
        super().__init__(metadata, loop, groups, now_ms)
        self.own: Final = OwnReads(metadata, loop)
        """The answers to other nodes."""
        self._moments = count(1)
        self._readers: OrderedDict[tuple[int, int], Reader] = OrderedDict()
        self._told: Remembered[dict[int, Told]] = Remembered()
        self._waiting: dict[Key, list[Latch[None]]] = {}
        self._settled = 0
        """The moment before which all that was told is void: other groups had settings."""
        self._deciders: dict[str, int] = {}
        """The nodes that coordinate groups with settings, by group: those of this topic."""
        self._decided_for: Topic | None = None
        self._decisions: Counter[int] = Counter()
        """How many of these groups each node coordinates."""
        self._looks = False
        self._nodes: Final = {
            node_id: NodeReads(metadata, loop, node_id, self._moments, self._waiting.__contains__, self._take)
            for node_id in metadata.nodes.ids
            if node_id != metadata.nodes.own_id
        }

    # --- settings --------------------------------------------------------------------------------------

    def _settings_changed(self, group_id: str) -> None:
        super()._settings_changed(group_id)
        self._settled = next(self._moments)
        before = self._deciders.pop(group_id, None)
        if before is not None:
            self._decisions[before] -= 1
        if group_id in self._settings and self._decided_for is not None:
            self._decide(group_id)

    def _decide(self, group_id: str) -> None:
        node_id = self._metadata.topics.coordinator(OFFSETS_TOPIC, group_id)
        if node_id is not None:
            self._deciders[group_id] = node_id
            self._decisions[node_id] += 1

    def _decides(self, node_id: int) -> bool:
        """Whether a node coordinates groups with settings."""
        topic = self._metadata.catalogue.find(OFFSETS_TOPIC)
        if topic is not self._decided_for:
            self._decided_for = topic
            self._deciders.clear()
            self._decisions.clear()
            for group_id in self._settings:
                self._decide(group_id)
        return self._decisions[node_id] > 0

    # --- for which groups a fetch is -------------------------------------------------------------------

    def is_unknown(self, call: Call[FetchRequest]) -> bool:
        """Whether it must be found out for which groups a fetch is."""
        if super().is_unknown(call):
            return True
        key, identity = key_of(call), _identity_of(call)
        is_member, reader = self._is_member(key), self._readers.get(identity)
        if reader is None or ((reader.was_member or is_member) and self._names_others(key, call.request)):
            was_member = is_member if reader is None else True
            reader = Reader(next(self._moments), was_member)
            self._remember(identity, reader)
        elif is_member and not reader.was_member:
            self._readers[identity] = reader._replace(was_member=True)
        return bool(self._lacking(key, self._needed(reader)))

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
        key, identity = key_of(call), _identity_of(call)
        reader = self._readers.get(identity)
        if reader is None:
            reader = Reader(next(self._moments), False)
            self._remember(identity, reader)
        # Changes that come after the fetch keep it waiting no longer.
        needed = self._needed(reader)
        until_ms = max(until_ms, call.received_ms + LEAST_WAIT_MS)
        while lacking := self._lacking(key, needed):
            if self._loop.clock.turn_ms >= until_ms:
                return False
            told: Latch[None] = Latch()
            self._waiting.setdefault(key, []).append(told)
            try:
                for node_id in lacking:
                    self._nodes[node_id].ask(key, since=needed[node_id], every=self._is_member(key))
                yield from told.wait(self._loop.timers, until_ms)
            finally:
                self._waits_no_more(key, told)
            yield from self._follow(key)
        return True

    def _waits_no_more(self, key: Key, told: Latch[None]) -> None:
        waiting = self._waiting[key]
        waiting.remove(told)
        if not waiting:
            del self._waiting[key]

    def _lacking(self, key: Key, needed: Mapping[int, int]) -> list[int]:
        """Return the nodes that must tell of a client and have not, since a moment for each."""
        followed = self._found.get(key) if self._is_reader(key) else None
        told = followed.told if followed is not None else self._told.get(key) or {}
        is_member = self._is_member(key)
        lacking: list[int] = []
        for node_id, node in self._nodes.items():
            decides = self._decides(node_id)
            if not (decides or is_member):
                continue
            found = told.get(node_id)
            is_told = found is not None and found.moment >= needed[node_id] and (found.every or not is_member)
            if not is_told and node.silent_ms <= (LOAD_WAIT_MS if decides else ALONE_MS):
                lacking.append(node_id)
        return lacking

    def _names_others(self, key: Key, request: FetchRequest) -> bool:
        """Whether a fetch names a partition that its client does not have, or may begin a snapshot of one."""
        if sum(len(topic.partitions) for topic in request.topics) > ITEMS_PER_SLICE:
            return True
        followed = self._found.get(key) if self._is_reader(key) else None
        catalogue = self._metadata.catalogue
        for asked in request.topics:
            topic = catalogue.find(asked.topic) if asked.topic else catalogue.find_id(asked.topic_id)
            if topic is None:
                continue
            for partition in asked.partitions:
                place = topic.topic_id, topic.name, partition.partition
                if followed is None or not followed.places.has(*place):
                    return True
                read = followed.places.read_of(*place)
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
            return
        for node_id, node in self._nodes.items():
            if self._decides(node_id) or node.silent_ms:
                node.look()
        self._look_later()

    # --- what is made of it ----------------------------------------------------------------------------

    def _is_reader(self, key: Key) -> bool:
        """Whether to follow a client: it is a member of a group with settings, or nodes have told of it."""
        return super()._is_reader(key) or (
            self._has_groups() and any(told.groups for told in (self._told.get(key) or {}).values())
        )

    def _is_member(self, key: Key) -> bool:
        """Whether a client is a member of a group with settings, as far as that is noted or told."""
        followed = self._found.get(key) if self._is_reader(key) else None
        if followed is not None and followed.places.has_settings:
            return True
        told = (self._told.get(key) or {}).values()
        return any(not self._settings.keys().isdisjoint(each.groups.keys()) for each in told)

    def _is_current(self, key: Key) -> bool:
        return super()._is_current(key) and self._has_noted(key)

    def _has_noted(self, key: Key) -> bool:
        """Whether all that nodes have told of a client is noted, if it is to be followed."""
        if not self._is_reader(key):
            return True
        followed, told = self._found.get(key), self._told.get(key) or {}
        return (
            followed is not None
            and followed.told.keys() == told.keys()
            and all(followed.told[node_id] is each for node_id, each in told.items())
        )

    def _note(self, key: Key, followed: Followed, members: Iterable[MemberId]) -> WaitingSteps:
        yield from super()._note(key, followed, members)
        told = dict(self._told.get(key) or {})
        for node_id in followed.told.keys() | told.keys():
            before, after = followed.told.get(node_id), told.get(node_id)
            if before is not after and not followed.is_too_wide:
                yield from self._note_told(followed, node_id, before, after)
        followed.told = told

    def _note_told(
        self, followed: Followed, node_id: int, before: Told | None, after: Told | None
    ) -> WaitingSteps:
        """Note what a client has for groups of a node, which are its members there, as it were."""
        pace = Pace(PLAIN_ITEMS_PER_STEP)
        former = {} if before is None else before.groups
        present = {} if after is None else after.groups
        for group_id in former.keys() | present.keys():
            positions = present.get(group_id)
            settings = self._settings.get(group_id, PLAIN)
            parts = (positions,) if positions else ()
            read = yield from followed.places.note(group_id, settings, node_id, parts, pace)
            if positions is not None or read.positions is former.get(group_id):
                read.positions = positions
            if followed.places.size_bytes > READS_BYTES_MAX:
                yield from followed.give_up()
                return
            if pace.due(MEMBER_ITEMS):
                yield None


def _identity_of(call: Call[Any]) -> tuple[int, int]:
    # Not the id itself: a client may send many long ones.
    return call.connection.identity, hash(call.client_id or "")
