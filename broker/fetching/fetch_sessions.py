"""Incremental fetch sessions: a consumer names its partitions once and then only what changed.

    request (session id, epoch)   meaning                                  answer's session id
    (any, -1)                     full fetch, no session; an old one ends  0
    (any, 0)                      full fetch that opens a session          the new one; 0 without room
    (id, n)                       the session's partitions plus the named  id
                                  ones minus the forgotten ones; n must be
                                  the epoch after the last answer

Errors concern the whole request: 70 for an unknown id, 71 for another epoch (the session survives it), 106
for topic names in a session of topic ids or the reverse.  An answer within a session leaves out partitions
that have neither records, nor an error, nor a new high watermark or log start.  A session that outgrows the
memory for all of them (fetch_session_cache.py) ends with 70, and its client names its partitions again.
Source: KIP-227, KIP-516.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.errors import RequestError
from broker.fetching.fetch_items import ITEM_BYTES, FetchItem, PartitionKey
from broker.fetching.fetch_session_cache import FetchSession, FetchSessionCache, Owner
from broker.loop.slices import Pace
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from protocol.messages.fetch import FetchRequest

ITEMS_PER_STEP: Final = 100
"""The items planned between two looks at the time."""

FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
EPOCH_MAX: Final = 2**31 - 1


class FetchPlan:
    """The plan of one fetch: its items in serving order and the session they belong to, if any."""

    __slots__ = ("incremental", "items", "session")

    def __init__(
        self, items: OrderedDict[PartitionKey, FetchItem], session: FetchSession | None, *, incremental: bool
    ) -> None:
        self.items = items
        self.session = session
        self.incremental = incremental

    @property
    def session_id(self) -> int:
        """The id that the answer carries."""
        return self.session.identity if self.session else 0

    @property
    def own_bytes(self) -> int:
        """The memory of the items, 0 when they are counted as a session's."""
        return 0 if self.session else len(self.items) * ITEM_BYTES


PlanSteps = Generator[None, None, FetchPlan]


class FetchSessions:
    """The fetch sessions of the node, as requests see them."""

    def __init__(self, *, slots: int, limit_bytes: int, share: float, random: Random) -> None:
        """`slots` and `limit_bytes` limit all sessions, and `share` of both those from one address."""
        self.cache = FetchSessionCache(slots=slots, limit_bytes=limit_bytes, share=share)
        self._random = random

    def __len__(self) -> int:
        return len(self.cache)

    def plan(self, request: FetchRequest, *, uses_topic_ids: bool, owner: Owner, now_ms: int) -> PlanSteps:
        """Find or open the request's session and return what is to be read.

        Raises: RequestError, with 70, 71 or 106; the session, if there is one, is unchanged.
        """
        if request.session_epoch not in (FINAL_EPOCH, INITIAL_EPOCH):
            return (
                yield from self._continue(request, uses_topic_ids=uses_topic_ids, owner=owner, now_ms=now_ms)
            )
        if request.session_id:
            self.cache.end(request.session_id)
        items: OrderedDict[PartitionKey, FetchItem] = OrderedDict()
        yield from update_items(items, request, uses_topic_ids=uses_topic_ids)
        session = None
        if request.session_epoch == INITIAL_EPOCH:
            session = FetchSession(
                self._new_identity(),
                items,
                uses_topic_ids=uses_topic_ids,
                owner=owner,
                now_ms=now_ms,
            )
            if not self.cache.add(session, now_ms):
                session = None
        return FetchPlan(items, session, incremental=False)

    def disconnected(self, connection: int) -> None:
        """Note that a connection has ended: its sessions are the first to go."""
        self.cache.disconnected(connection)

    def _new_identity(self) -> int:
        identity = 0
        while not identity or identity in self.cache:
            identity = self._random.randint(1, EPOCH_MAX)
        return identity

    def _continue(
        self, request: FetchRequest, *, uses_topic_ids: bool, owner: Owner, now_ms: int
    ) -> PlanSteps:
        session = self.cache.get(request.session_id)
        if session is None:
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise RequestError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise RequestError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        # At once: another request with the same epoch may come in between the steps.
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        yield from update_items(session.items, request, uses_topic_ids=uses_topic_ids)
        # Last, as in Kafka: a partition that a request both names and forgets is forgotten.
        pace = Pace(ITEMS_PER_STEP)
        for forgotten in request.forgotten_topics_data:
            topic_key = forgotten.topic_id if uses_topic_ids else forgotten.topic
            for index in forgotten.partitions:
                session.items.pop((topic_key, index), None)
                if pace.due():
                    yield
            if pace.due():
                yield
        if not session.items:
            self.cache.end(session.identity)
            return FetchPlan(session.items, None, incremental=True)
        if not self.cache.used(session, owner, now_ms):
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return FetchPlan(session.items, session, incremental=True)


def update_items(
    items: OrderedDict[PartitionKey, FetchItem], request: FetchRequest, *, uses_topic_ids: bool
) -> Iterator[None]:
    """Add the request's partitions to `items`, or update them there; the last mention of one counts."""
    pace = Pace(ITEMS_PER_STEP)
    for topic in request.topics:
        topic_key: str | UUID = topic.topic_id if uses_topic_ids else topic.topic
        for asked in topic.partitions:
            key = (topic_key, asked.partition)
            item = items.get(key)
            if item is None:
                item = FetchItem(topic.topic, topic.topic_id, asked.partition, by_id=uses_topic_ids)
                items[key] = item
            item.fetch_offset = asked.fetch_offset
            item.max_bytes = asked.partition_max_bytes
            item.leader_epoch = asked.current_leader_epoch
            item.last_fetched_epoch = asked.last_fetched_epoch
            if pace.due():
                yield
        if pace.due():
            yield
