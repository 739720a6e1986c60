"""Incremental fetch sessions: a consumer names its partitions once and then only what changed.

    request (session id, epoch)   meaning                                  answer's session id
    (any, -1)                     full fetch, no session; an old one ends  0
    (any, 0)                      full fetch that opens a session          the new one; 0 without room
    (id, n)                       the session's partitions plus the named  id
                                  ones minus the forgotten ones; n must be
                                  the epoch after the last answer

Errors concern the whole request: 70 for an unknown id, 71 for another epoch (the session survives it), 106
for topic names in a session of topic ids or the reverse.  An answer within a session leaves out partitions
that have neither records, nor an error, nor a new high watermark or log start.
Source: KIP-227, KIP-516.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.topics import Topic
    from protocol.messages.fetch import FetchRequest

FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
EPOCH_MAX: Final = 2**31 - 1

EVICTION_AGE_MS: Final = 120_000
"""A session idle for this long may be evicted for a new one.

Kafka's key for it: min.incremental.fetch.session.eviction.ms."""

PartitionKey = tuple[str | UUID, int]


class FetchItem:
    """One partition that a fetch asks for, and what its session last told the client about it."""

    __slots__ = (
        "by_id",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "leader_epoch",
        "max_bytes",
        "name",
        "sent_high_watermark",
        "sent_log_start",
        "topic",
        "topic_id",
    )

    def __init__(self, name: str, topic_id: UUID, index: int, *, by_id: bool) -> None:
        self.by_id = by_id
        self.name = name
        self.topic_id = topic_id
        self.index = index
        self.fetch_offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        # The topic as it was last found; it tells a deleted topic from one that was never known.
        self.topic: Topic | None = None
        self.sent_high_watermark = -1
        self.sent_log_start = -1

    def is_news(self, *, high_watermark: int, log_start: int) -> bool:
        """Return whether the session's client does not know these marks yet, and remember them as sent."""
        news = self.sent_high_watermark != high_watermark or self.sent_log_start != log_start
        self.sent_high_watermark = high_watermark
        self.sent_log_start = log_start
        return news


class FetchSession:
    """The partitions of one consumer connection, in the order in which they are served."""

    __slots__ = ("epoch", "identity", "items", "used_ms", "uses_topic_ids")

    def __init__(self, identity: int, *, uses_topic_ids: bool, now_ms: int) -> None:
        self.identity = identity
        self.epoch = 1
        self.uses_topic_ids = uses_topic_ids
        self.items: OrderedDict[PartitionKey, FetchItem] = OrderedDict()
        self.used_ms = now_ms


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


class FetchSessions:
    """All fetch sessions of the node, least recently used first."""

    def __init__(self, *, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(self, request: FetchRequest, *, uses_topic_ids: bool, now_ms: int) -> FetchPlan:
        """Find or open the request's session and return what is to be read.

        Raises: RequestError, with 70, 71 or 106; the session, if there is one, is unchanged.
        """
        if request.session_epoch not in (FINAL_EPOCH, INITIAL_EPOCH):
            return self._continue(request, uses_topic_ids=uses_topic_ids, now_ms=now_ms)
        if request.session_id:
            self._sessions.pop(request.session_id, None)
        items: OrderedDict[PartitionKey, FetchItem] = OrderedDict()
        update_items(items, request, uses_topic_ids=uses_topic_ids)
        session = None
        if request.session_epoch == INITIAL_EPOCH:
            session = self._open(len(items), uses_topic_ids=uses_topic_ids, now_ms=now_ms)
            if session:
                session.items = items
        return FetchPlan(items, session, incremental=False)

    def _open(self, item_count: int, *, uses_topic_ids: bool, now_ms: int) -> FetchSession | None:
        if len(self._sessions) >= self._slots and not self._evict(item_count, now_ms):
            return None
        identity = 0
        while not identity or identity in self._sessions:
            identity = self._random.randint(1, EPOCH_MAX)
        session = FetchSession(identity, uses_topic_ids=uses_topic_ids, now_ms=now_ms)
        self._sessions[identity] = session
        return session

    def _evict(self, item_count: int, now_ms: int) -> bool:
        """Make room by ending the longest unused session, if it is idle or smaller than the new one."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.used_ms <= EVICTION_AGE_MS and len(oldest.items) >= item_count:
            return False
        del self._sessions[oldest.identity]
        return True

    def _continue(self, request: FetchRequest, *, uses_topic_ids: bool, now_ms: int) -> FetchPlan:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise RequestError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise RequestError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        update_items(session.items, request, uses_topic_ids=uses_topic_ids)
        # Last, as in Kafka: a partition that a request both names and forgets is forgotten.
        for forgotten in request.forgotten_topics_data:
            topic_key = forgotten.topic_id if uses_topic_ids else forgotten.topic
            for index in forgotten.partitions:
                session.items.pop((topic_key, index), None)
        session.used_ms = now_ms
        if not session.items:
            del self._sessions[session.identity]
            return FetchPlan(session.items, None, incremental=True)
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        self._sessions.move_to_end(session.identity)
        return FetchPlan(session.items, session, incremental=True)


def update_items(
    items: OrderedDict[PartitionKey, FetchItem], request: FetchRequest, *, uses_topic_ids: bool
) -> None:
    """Add the request's partitions to `items`, or update them there; the last mention of one counts."""
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
