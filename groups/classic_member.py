"""A member of a classic group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Final, TypeVar

from groups.activity import Activity
from groups.name_counts import forget_names
from groups.record_schemas import MemberMetadata
from protocol.consumer_protocol import decode_subscription
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.sync_group import SyncGroupResponse

Key = TypeVar("Key")

JoinReply = Callable[[JoinGroupResponse], None]
SyncReply = Callable[[SyncGroupResponse], None]
Protocols = tuple[tuple[str, bytes], ...]
"""Name and metadata of each protocol that a member supports, the preferred first."""


SHARED_BLOB_BYTES: Final = 512
"""A subscription up to this size is read once for all members that send the same."""


def topics_in(subscription: bytes) -> tuple[str, ...]:
    """Return the topics that a member's metadata names.

    Raises: Malformed.
    """
    if len(subscription) <= SHARED_BLOB_BYTES:
        return _shared_topics_in(subscription)
    return tuple(decode_subscription(subscription).topics)


@lru_cache(maxsize=4_096)
def _shared_topics_in(subscription: bytes) -> tuple[str, ...]:
    return tuple(decode_subscription(subscription).topics)


def protocols_of(protocols: list[JoinGroupRequestProtocol]) -> Protocols:
    """Return the protocols of a request; of two of one name the last counts, as in Kafka's collection."""
    # Without a line of Python for each: a member may have 20,000.
    blobs = map(bytes, map(attrgetter("metadata"), protocols))
    return tuple(dict(zip(map(attrgetter("name"), protocols), blobs, strict=True)).items())


def join_refused(code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return the answer to a JoinGroup that failed."""
    return JoinGroupResponse(
        error_code=code, protocol_type=None, protocol_name=None, leader="", member_id=member_id, members=[]
    )


def sync_refused(code: ErrorCode) -> SyncGroupResponse:
    """Return the answer to a SyncGroup that failed."""
    return SyncGroupResponse(error_code=code, assignment=b"")


class Tally:
    """Counts over the members of a group, which the members keep up to date: a join looks at no other."""

    __slots__ = ("names", "preferences", "waiting_joins")

    def __init__(self) -> None:
        self.waiting_joins = 0
        """The members whose JoinGroup waits."""
        self.names: Counter[str] = Counter()
        """The members that know each protocol."""
        self.preferences: Counter[tuple[str, ...]] = Counter()
        """The members with each order of protocols."""

    def add(self, member: ClassicMember, change: int) -> None:
        """Count a member that comes (1) or goes (-1)."""
        self.waiting_joins += change * (member.join is not None)
        self.add_protocols(member.protocols, change)

    def add_protocols(self, protocols: Protocols, change: int) -> None:
        """Count the protocols that a member knows from now on (1) or no longer (-1)."""
        order = tuple(map(itemgetter(0), protocols))
        if change > 0:
            # Without a line of Python for each: a member may have 20,000.
            self.names.update(set(order))
        else:
            forget_names(self.names, set(order))
        _count(self.preferences, order, change)


def _count(counts: Counter[Key], key: Key, change: int) -> None:
    counts[key] += change
    if not counts[key]:
        del counts[key]


class ClassicMember:
    """One member, with its waiting calls: at most one of each kind."""

    __slots__ = (
        "_join",
        "_protocols",
        "_tally",
        "activity",
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "member_id",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
        activity: Activity | None = None,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self._protocols = protocols
        self._join: JoinReply | None = None
        # The counts of its group, once it is a member.
        self._tally: Tally | None = None
        self.assignment = assignment
        # True until the first JoinGroup is answered: until then its client has no id for heartbeats.
        self.is_new = False
        self.sync: SyncReply | None = None
        self.activity = activity or Activity()

    @property
    def join(self) -> JoinReply | None:
        """The JoinGroup that waits."""
        return self._join

    @join.setter
    def join(self, reply: JoinReply | None) -> None:
        if self._tally is not None:
            self._tally.waiting_joins += (reply is not None) - (self._join is not None)
        self._join = reply

    @property
    def protocols(self) -> Protocols:
        """The protocols that it supports."""
        return self._protocols

    @protocols.setter
    def protocols(self, protocols: Protocols) -> None:
        if self._tally is not None and protocols != self._protocols:
            self._tally.add_protocols(self._protocols, -1)
            self._tally.add_protocols(protocols, 1)
        self._protocols = protocols

    def enter(self, tally: Tally | None) -> None:
        """Be counted among the members of a group; None: of no group any more."""
        if self._tally is not None:
            self._tally.add(self, -1)
        self._tally = tally
        if tally is not None:
            tally.add(self, 1)

    @property
    def waits(self) -> bool:
        """Whether it is owed an answer, so that its silence means nothing."""
        return self.join is not None or self.sync is not None

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's metadata for a protocol; empty if it does not know the protocol."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    def subscribed_topics(self, protocol: str | None) -> tuple[str, ...]:
        """Return the topics that it subscribes to, sorted, as far as they can be known."""
        try:
            return tuple(sorted(set(topics_in(self.metadata(protocol)))))
        except Malformed:
            return ()

    def answer_join(self, response: JoinGroupResponse) -> None:
        """Answer the waiting JoinGroup, if there is one."""
        reply, self.join = self.join, None
        if reply is not None:
            reply(response)

    def answer_sync(self, response: SyncGroupResponse) -> None:
        """Answer the waiting SyncGroup, if there is one."""
        reply, self.sync = self.sync, None
        if reply is not None:
            reply(response)

    def record(self, protocol: str | None) -> MemberMetadata:
        """Return the member as its group's record keeps it."""
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.metadata(protocol),
            assignment=self.assignment,
        )


def member_of_record(record: MemberMetadata, protocol: str | None) -> ClassicMember:
    """Return the member that a group's record holds."""
    rebalance_timeout_ms = record.rebalance_timeout
    return ClassicMember(
        record.member_id,
        instance_id=record.group_instance_id,
        client_id=record.client_id,
        client_host=record.client_host,
        session_timeout_ms=record.session_timeout,
        rebalance_timeout_ms=record.session_timeout if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        protocols=() if protocol is None else ((protocol, bytes(record.subscription)),),
        assignment=bytes(record.assignment),
    )
