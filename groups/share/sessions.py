"""Share sessions: the partitions that a member fetches from, so that a request only names changes.

A session belongs to a member of a group and to the connection that opened it. ShareFetch and ShareAcknowledge
share it, and every request carries its epoch:

    0 opens a session, in place of an older one        n must be the one expected, which is then n + 1
    -1 closes it, after its acknowledgements           the epoch after 2^31 - 1 is 1

Source: KIP-932; Kafka 4.3's SharePartitionManager, ShareSessionCache and ShareSessionContext.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from itertools import islice
from typing import Final, NamedTuple
from uuid import UUID

from groups.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)

OPENING_EPOCH: Final = 0
CLOSING_EPOCH: Final = -1
INT32_MAX: Final = 2**31 - 1

MEMBER_ID_CHARS_MAX: Final = 36
"""The longest member id: a UUID in text."""

PARTITIONS_MAX: Final = 250_000
"""The partitions in all sessions together, each with 200 to 300 bytes; Kafka bounds only the sessions."""

TopicPartition = tuple[UUID, int]


def is_member_id(text: str | None) -> bool:
    """Whether this can be the id of a member; members make their ids themselves."""
    return bool(text) and len(text or "") <= MEMBER_ID_CHARS_MAX


class SessionKey(NamedTuple):
    """A member of a group."""

    group_id: str
    member_id: str


class ShareSession:
    """One session."""

    __slots__ = ("active_ms", "connection", "epoch", "is_waiting", "key", "partitions", "window")

    def __init__(self, key: SessionKey, connection: Hashable) -> None:
        self.key = key
        self.connection = connection
        # The epoch of the next request.
        self.epoch = 1
        # In the order in which they came.
        self.partitions: dict[TopicPartition, None] = {}
        # For display: the records that the last fetch asked for.
        self.window = 0
        # The moment of the last request, or of its answer; whether a fetch waits for records now.
        self.active_ms = 0
        self.is_waiting = False

    def rotated(self) -> list[TopicPartition]:
        """Return the partitions, from another one on in every request: none is always the last."""
        if not self.partitions:
            return []
        first = self.epoch % len(self.partitions)
        return [*islice(self.partitions, first, None), *islice(self.partitions, first)]


class ShareSessions:
    """All sessions of this node."""

    __slots__ = ("_by_connection", "_sessions", "partition_count", "partitions_max", "sessions_max")

    def __init__(self, sessions_max: int, partitions_max: int = PARTITIONS_MAX) -> None:
        self.sessions_max = sessions_max
        self.partitions_max = partitions_max
        self.partition_count = 0
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._by_connection: dict[Hashable, set[SessionKey]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, key: SessionKey) -> ShareSession | None:
        """Return a member's session, if it has one."""
        return self._sessions.get(key)

    def idle(self, asking: SessionKey, idle_ms: int, now_ms: int) -> tuple[list[str], int | None]:
        """Return the members that sit idle beside one that asks, and when the next one will.

        Idle is a member that for `idle_ms` has neither fetched nor acknowledged, and does not wait.
        """
        idle: list[str] = []
        next_ms: int | None = None
        for key, session in self._sessions.items():
            if key.group_id != asking.group_id or key == asking or session.is_waiting:
                continue
            due_ms = session.active_ms + idle_ms
            if due_ms <= now_ms:
                idle.append(key.member_id)
            elif next_ms is None or due_ms < next_ms:
                next_ms = due_ms
        return idle, next_ms

    def fetch(
        self,
        key: SessionKey,
        epoch: int,
        connection: Hashable,
        added: Iterable[TopicPartition],
        forgotten: Collection[TopicPartition],
        *,
        acknowledges: bool,
    ) -> ShareSession:
        """Return the session of a fetch, after its changes; the partitions in `added` must exist.

        A member whose session is replaced keeps what it has acquired, and acknowledges it in the new one.
        Raises: InvalidRequest, InvalidShareSessionEpoch, ShareSessionLimitReached, ShareSessionNotFound.
        """
        if epoch == OPENING_EPOCH:
            if acknowledges:
                raise InvalidRequest("the first fetch of a share session cannot acknowledge records")
            return self._open(key, connection, added)
        session = self._expect(key, epoch, connection)
        if epoch == CLOSING_EPOCH:
            return session
        for partition in added:
            self.add(session, partition)
        # A partition that is in both is only named for its acknowledgements.
        for partition in forgotten:
            self.forget(session, partition)
        return session

    def add(self, session: ShareSession, partition: TopicPartition) -> bool:
        """Add a partition, which must exist, to a session; return whether it is new there.

        A session that was closed meanwhile stays as it is.
        Raises: ShareSessionLimitReached, if the sessions have too many partitions; this one is then to be
        closed.
        """
        if partition in session.partitions or self._sessions.get(session.key) is not session:
            return False
        if self.partition_count >= self.partitions_max:
            raise ShareSessionLimitReached(
                f"the share sessions of this server have {self.partitions_max} partitions, which is the most"
            )
        session.partitions[partition] = None
        self.partition_count += 1
        return True

    def forget(self, session: ShareSession, partition: TopicPartition) -> None:
        """Remove a partition from a session, if it is there and the session is not closed."""
        if self._sessions.get(session.key) is session and partition in session.partitions:
            del session.partitions[partition]
            self.partition_count -= 1

    def acknowledge(self, key: SessionKey, epoch: int, connection: Hashable) -> ShareSession:
        """Return the session of an acknowledgement.

        Raises: InvalidShareSessionEpoch, ShareSessionNotFound.
        """
        if epoch == OPENING_EPOCH:
            raise InvalidShareSessionEpoch("an acknowledgement cannot open a share session")
        return self._expect(key, epoch, connection)

    def _open(self, key: SessionKey, connection: Hashable, added: Iterable[TopicPartition]) -> ShareSession:
        self.close(key)
        if len(self._sessions) >= self.sessions_max:
            raise ShareSessionLimitReached(
                f"there are {self.sessions_max} share sessions (group.share.max.share.sessions)"
            )
        session = self._sessions[key] = ShareSession(key, connection)
        self._by_connection.setdefault(connection, set()).add(key)
        for partition in added:
            self.add(session, partition)
        return session

    def _expect(self, key: SessionKey, epoch: int, connection: Hashable) -> ShareSession:
        session = self._sessions.get(key)
        if session is None or session.connection != connection:
            raise ShareSessionNotFound(f"member {key.member_id} of group {key.group_id} has no share session")
        if epoch == CLOSING_EPOCH:
            return session
        if epoch != session.epoch:
            raise InvalidShareSessionEpoch(f"the epoch of the share session is {session.epoch}, not {epoch}")
        session.epoch = 1 if epoch == INT32_MAX else epoch + 1
        return session

    def close(self, key: SessionKey) -> ShareSession | None:
        """Forget a session and return it; what its member has acquired is to be released."""
        session = self._sessions.pop(key, None)
        if session is not None:
            self.partition_count -= len(session.partitions)
            keys = self._by_connection[session.connection]
            keys.discard(key)
            if not keys:
                del self._by_connection[session.connection]
        return session

    def disconnected(self, connection: Hashable) -> list[ShareSession]:
        """Forget the sessions of a connection that was lost, and return them."""
        closed = (self.close(key) for key in sorted(self._by_connection.get(connection, ())))
        return [session for session in closed if session is not None]
