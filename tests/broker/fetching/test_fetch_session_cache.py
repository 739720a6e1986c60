"""Fetch sessions are weighed: there is a limit for all, and who has its share makes room among its own."""

from __future__ import annotations

from itertools import count

from broker.fetching.fetch_items import ITEM_BYTES
from broker.fetching.fetch_session_cache import (
    EVICTION_AGE_MS,
    SESSION_BYTES,
    FetchSession,
    FetchSessionCache,
)
from tests.broker.fetching.fetches import Origin, items_of

TEN = SESSION_BYTES + 10 * ITEM_BYTES
"""The memory of a session of ten partitions."""


class Sessions:
    """A cache, and short forms of what is done with it."""

    def __init__(self, *, slots: int = 100, room_bytes: int = 4 * TEN, share: float = 1.0) -> None:
        self.cache = FetchSessionCache(slots=slots, limit_bytes=room_bytes, share=share)
        self._identities = count(1)

    def open(
        self, partitions: int = 10, *, host: str = "10.0.0.9", connection: int = 1, now_ms: int = 0
    ) -> FetchSession | None:
        """Return a new session, None if there is no room for it."""
        session = FetchSession(
            next(self._identities),
            items_of(partitions),
            uses_topic_ids=False,
            owner=Origin(connection, host),
            now_ms=now_ms,
        )
        return session if self.cache.add(session, now_ms) else None

    def opened(self, partitions: int = 10, **options: object) -> FetchSession:
        session = self.open(partitions, **options)  # type: ignore[arg-type]
        assert session is not None
        return session

    def use(self, session: FetchSession, *, connection: int = 1, now_ms: int = 0) -> bool:
        return self.cache.used(session, Origin(connection, session.host), now_ms)


def test_sessions_take_no_more_memory_than_there_is_for_them() -> None:
    sessions = Sessions()
    assert [sessions.open() is not None for _ in range(6)] == [True] * 4 + [False] * 2
    assert (sessions.cache.size_bytes, sessions.cache.refused) == (4 * TEN, 2)


def test_a_session_that_is_too_large_for_any_room_evicts_nothing() -> None:
    sessions = Sessions()
    small = sessions.opened(1)
    assert sessions.open(100) is None
    assert small.identity in sessions.cache


def test_sessions_of_ended_connections_are_the_first_to_go() -> None:
    sessions = Sessions()
    oldest = sessions.opened(connection=1)
    left = [sessions.opened(connection=2), sessions.opened(connection=2)]
    sessions.opened(connection=3)
    sessions.cache.disconnected(2)
    assert sessions.open(connection=4) is not None
    assert left[0].identity not in sessions.cache
    assert left[1].identity in sessions.cache
    assert oldest.identity in sessions.cache


def test_a_session_goes_on_over_another_connection() -> None:
    sessions = Sessions()
    session = sessions.opened(connection=1)
    sessions.cache.disconnected(1)
    assert sessions.use(session, connection=2)
    sessions.cache.disconnected(1)
    for _ in range(4):
        sessions.open(connection=3)
    assert session.identity in sessions.cache, "it belongs to a connection that lives"


def test_a_session_idle_for_two_minutes_makes_room() -> None:
    sessions = Sessions()
    first, second, *_ = [sessions.opened() for _ in range(4)]
    assert sessions.use(first, now_ms=1_000)
    assert sessions.open(now_ms=EVICTION_AGE_MS) is None
    assert sessions.open(now_ms=EVICTION_AGE_MS + 1) is not None
    assert second.identity not in sessions.cache
    assert first.identity in sessions.cache


def test_large_sessions_of_one_address_do_not_end_those_of_others() -> None:
    sessions = Sessions(share=0.5)
    others = [sessions.opened(9, host="10.0.0.1"), sessions.opened(9, host="10.0.0.2")]
    sessions.opened(10, host="10.0.0.9")
    assert [sessions.open(12, host="10.0.0.9") is not None for _ in range(5)] == [True] + [False] * 4
    assert all(session.identity in sessions.cache for session in others)


def test_an_address_below_its_share_gets_room_from_one_above() -> None:
    sessions = Sessions(share=0.5)
    greedy = [sessions.opened(host="10.0.0.9") for _ in range(4)]
    assert sessions.open(1, host="10.0.0.1") is not None
    assert [session.identity in sessions.cache for session in greedy] == [False, True, True, True]


def test_a_session_that_outgrows_the_memory_ends() -> None:
    sessions = Sessions()
    session = sessions.opened()
    others = [sessions.opened() for _ in range(3)]
    session.items.update(items_of(50))
    assert not sessions.use(session)
    assert session.identity not in sessions.cache
    assert sessions.cache.size_bytes == len(others) * TEN
    assert sessions.cache.evicted == 1


def test_a_session_may_grow_into_the_place_of_an_idle_one() -> None:
    sessions = Sessions()
    idle, session, *_ = [sessions.opened() for _ in range(4)]
    session.items.update(items_of(12))
    assert sessions.use(session, now_ms=EVICTION_AGE_MS + 1)
    assert idle.identity not in sessions.cache
    assert session.size_bytes == SESSION_BYTES + 12 * ITEM_BYTES


def test_a_session_that_shrinks_gives_memory_back() -> None:
    sessions = Sessions()
    session = sessions.opened(10)
    session.items.popitem()
    assert sessions.use(session)
    assert sessions.cache.size_bytes == TEN - ITEM_BYTES


def test_an_ended_session_holds_nothing_even_while_a_fetch_of_it_waits() -> None:
    sessions = Sessions()
    session = sessions.opened()
    waiting = session.items
    sessions.cache.end(session.identity)
    assert not waiting
    sessions.cache.disconnected(1)
    assert (len(sessions.cache), sessions.cache.size_bytes) == (0, 0)


def test_slots_are_shared_like_memory() -> None:
    sessions = Sessions(slots=4, room_bytes=1 << 30, share=0.5)
    mine = [sessions.opened(1, host="10.0.0.9") for _ in range(4)]
    assert sessions.open(1, host="10.0.0.9") is None
    assert sessions.open(1, host="10.0.0.1") is not None
    assert mine[0].identity not in sessions.cache
