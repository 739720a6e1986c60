"""The fetch sessions that the node keeps: as many as there are slots, and as much as there is memory for.

A session is weighed by its partitions, known or not. While there is room, any client may have it. After
that, room is made for a new session, and for one that has grown, in this order, the longest unused first:

    1  sessions whose connection has ended
    2  sessions unused for two minutes
    3  if its address has no more than its share: sessions of addresses that have more than theirs,
       then any session that is smaller
    4  if its address has more than its share: smaller sessions of that address

Without room, a fetch is answered without a session. Rules 2 and 3 are Kafka's, which counts sessions alone
(FetchSessionCacheShard.tryEvict); the share keeps one client's large sessions from ending all others'.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from broker.fetching.fetch_items import ITEM_BYTES, FetchItem, PartitionKey

EVICTION_AGE_MS: Final = 120_000
"""A session idle for this long may be evicted for a new one.

Kafka's key for it: min.incremental.fetch.session.eviction.ms."""

SESSION_BYTES: Final = 1_000
"""The memory of a session without its items."""


class Owner(Protocol):
    """The connection that uses a session."""

    @property
    def identity(self) -> int:
        """Its number on this node."""

    @property
    def host(self) -> str:
        """The client's address."""


class FetchSession:
    """The partitions of one consumer connection, in the order in which they are served."""

    __slots__ = (
        "connection",
        "epoch",
        "host",
        "identity",
        "items",
        "size_bytes",
        "used_ms",
        "uses_topic_ids",
    )

    def __init__(
        self,
        identity: int,
        items: OrderedDict[PartitionKey, FetchItem],
        *,
        uses_topic_ids: bool,
        owner: Owner,
        now_ms: int,
    ) -> None:
        self.identity = identity
        self.items = items
        self.epoch = 1
        self.uses_topic_ids = uses_topic_ids
        # The connection that used it last, None when that has ended, and its client's address.
        self.connection: int | None = owner.identity
        self.host = owner.host
        self.used_ms = now_ms
        # As counted by the cache; 0 while it is not in there.
        self.size_bytes = 0

    @property
    def wanted_bytes(self) -> int:
        """The memory of the session."""
        return SESSION_BYTES + len(self.items) * ITEM_BYTES


class _Share:
    """The sessions of one address, the least recently used first."""

    __slots__ = ("sessions", "size_bytes")

    def __init__(self) -> None:
        self.sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self.size_bytes = 0


class FetchSessionCache:
    """The sessions by id, least recently used first, with the sums of their addresses."""

    def __init__(self, *, slots: int, limit_bytes: int, share: float) -> None:
        self._slots = slots
        self._limit_bytes = limit_bytes
        self._share_slots = slots * share
        self._share_bytes = limit_bytes * share
        self.size_bytes = 0
        self.evicted = 0
        self.refused = 0
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._ended: OrderedDict[int, FetchSession] = OrderedDict()
        self._by_host: dict[str, _Share] = {}
        self._by_connection: dict[int, set[int]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, identity: int) -> bool:
        return identity in self._sessions

    def get(self, identity: int) -> FetchSession | None:
        """Return the session of that id."""
        return self._sessions.get(identity)

    def add(self, session: FetchSession, now_ms: int) -> bool:
        """Keep a new session, for which others may have to leave; return False if there is no room."""
        if not self._make_room(session, now_ms, slots=1):
            self.refused += 1
            return False
        self._sessions[session.identity] = session
        self._enter(session)
        return True

    def used(self, session: FetchSession, owner: Owner, now_ms: int) -> bool:
        """Note a use of a session, which may have grown; return False if it had to end for that."""
        identity = session.identity
        if session.connection != owner.identity:
            self._leave(session)
            session.connection, session.host = owner.identity, owner.host
            self._enter(session)
        session.used_ms = now_ms
        self._sessions.move_to_end(identity)
        self._by_host[session.host].sessions.move_to_end(identity)
        if session.wanted_bytes > session.size_bytes and not self._make_room(session, now_ms, slots=0):
            self.end(identity)
            self.evicted += 1
            return False
        self._weigh(session, session.wanted_bytes)
        return True

    def end(self, identity: int) -> None:
        """Forget a session, if it is there; a fetch of it that waits then holds no partitions either."""
        session = self._sessions.pop(identity, None)
        if session is not None:
            self._leave(session)
            session.items.clear()

    def disconnected(self, connection: int) -> None:
        """Note that a connection has ended; its sessions may be continued on another one until then."""
        for identity in self._by_connection.pop(connection, ()):
            session = self._ended[identity] = self._sessions[identity]
            session.connection = None

    # --- room -------------------------------------------------------------------------------------------

    def _make_room(self, session: FetchSession, now_ms: int, *, slots: int) -> bool:
        if not self._slots or session.wanted_bytes > self._limit_bytes:
            return False
        while not self._has_room(session, slots):
            victim = next(self._victims(session, slots, now_ms), None)
            if victim is None:
                return False
            self.end(victim.identity)
            self.evicted += 1
        return True

    def _has_room(self, session: FetchSession, slots: int) -> bool:
        wanted_bytes = self.size_bytes + session.wanted_bytes - session.size_bytes
        return len(self._sessions) + slots <= self._slots and wanted_bytes <= self._limit_bytes

    def _victims(self, session: FetchSession, slots: int, now_ms: int) -> Iterator[FetchSession]:
        """Yield the sessions that may leave for this one, by the order above."""
        yield from _first_other(self._ended.values(), session)
        for oldest in _first_other(self._sessions.values(), session):
            if now_ms - oldest.used_ms > EVICTION_AGE_MS:
                yield oldest
        own = self._by_host.get(session.host) or _Share()
        added_bytes = session.wanted_bytes - session.size_bytes
        if self._is_above_share(len(own.sessions) + slots, own.size_bytes + added_bytes):
            yield from _smaller(own.sessions.values(), session)
            return
        for share in self._by_host.values():
            if share is not own and self._is_above_share(len(share.sessions), share.size_bytes):
                yield from _first_other(share.sessions.values(), session)
        yield from _smaller(self._sessions.values(), session)

    def _is_above_share(self, count: int, size_bytes: int) -> bool:
        return count > self._share_slots or size_bytes > self._share_bytes

    # --- sums -------------------------------------------------------------------------------------------

    def _enter(self, session: FetchSession) -> None:
        share = self._by_host.get(session.host)
        if share is None:
            share = self._by_host[session.host] = _Share()
        share.sessions[session.identity] = session
        if session.connection is not None:
            self._by_connection.setdefault(session.connection, set()).add(session.identity)
        self._weigh(session, session.wanted_bytes)

    def _leave(self, session: FetchSession) -> None:
        identity = session.identity
        self._weigh(session, 0)
        self._ended.pop(identity, None)
        share = self._by_host[session.host]
        del share.sessions[identity]
        if not share.sessions:
            del self._by_host[session.host]
        if session.connection is not None:
            mine = self._by_connection[session.connection]
            mine.discard(identity)
            if not mine:
                del self._by_connection[session.connection]

    def _weigh(self, session: FetchSession, size_bytes: int) -> None:
        added_bytes = size_bytes - session.size_bytes
        session.size_bytes = size_bytes
        self.size_bytes += added_bytes
        self._by_host[session.host].size_bytes += added_bytes


def _first_other(sessions: Iterable[FetchSession], session: FetchSession) -> Iterator[FetchSession]:
    """Yield the first of the sessions that is not this one."""
    for other in sessions:
        if other is not session:
            yield other
            return


def _smaller(sessions: Iterable[FetchSession], session: FetchSession) -> Iterator[FetchSession]:
    """Yield the longest unused of the sessions if it is smaller than this one."""
    for oldest in _first_other(sessions, session):
        if len(oldest.items) < len(session.items):
            yield oldest
