"""Share sessions: epochs, changes, limits."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)
from groups.share.sessions import (
    CLOSING_EPOCH,
    INT32_MAX,
    SessionKey,
    ShareSession,
    ShareSessions,
    is_member_id,
)

KEY = SessionKey("g", "m1")

A, B, C = ((UUID(int=1), index) for index in range(3))


def fetch(
    sessions: ShareSessions,
    epoch: int,
    *added: tuple[UUID, int],
    key: SessionKey = KEY,
    connection: int = 1,
    forgotten: tuple[tuple[UUID, int], ...] = (),
    acknowledges: bool = False,
) -> ShareSession:
    return sessions.fetch(key, epoch, connection, added, forgotten, acknowledges=acknowledges)


def test_a_session_remembers_its_partitions_and_follows_changes() -> None:
    sessions = ShareSessions(10)
    fetch(sessions, 0, A, B)
    assert list(fetch(sessions, 1).partitions) == [A, B]
    assert list(fetch(sessions, 2, C, forgotten=(A,)).partitions) == [B, C]


def test_the_first_request_of_a_session_cannot_acknowledge() -> None:
    sessions = ShareSessions(10)
    with pytest.raises(InvalidRequest):
        fetch(sessions, 0, A, acknowledges=True)
    with pytest.raises(InvalidShareSessionEpoch):
        sessions.acknowledge(KEY, 0, 1)
    assert len(sessions) == 0


def test_every_request_has_the_next_epoch_of_fetches_and_acknowledgements_together() -> None:
    sessions = ShareSessions(10)
    fetch(sessions, 0, A)
    sessions.acknowledge(KEY, 1, 1)
    fetch(sessions, 2)
    for wrong in (2, 4, -2):
        with pytest.raises(InvalidShareSessionEpoch):
            fetch(sessions, wrong)
    fetch(sessions, 3)


def test_the_epoch_after_the_largest_is_one() -> None:
    sessions = ShareSessions(10)
    fetch(sessions, 0, A).epoch = INT32_MAX
    assert fetch(sessions, INT32_MAX).epoch == 1


def test_a_session_belongs_to_its_connection() -> None:
    sessions = ShareSessions(10)
    fetch(sessions, 0, A)
    with pytest.raises(ShareSessionNotFound):
        fetch(sessions, 1, connection=2)
    with pytest.raises(ShareSessionNotFound):
        sessions.acknowledge(SessionKey("g", "m2"), 1, 1)
    fetch(sessions, 0, B, connection=2)
    assert sessions.disconnected(1) == []
    assert list(fetch(sessions, 1, connection=2).partitions) == [B]


def test_an_opened_session_replaces_the_older_one() -> None:
    sessions = ShareSessions(1)
    fetch(sessions, 0, A)
    assert list(fetch(sessions, 0, B).partitions) == [B]
    assert len(sessions) == 1


def test_there_are_only_so_many_sessions() -> None:
    sessions = ShareSessions(1)
    fetch(sessions, 0, A)
    other = SessionKey("g", "m2")
    with pytest.raises(ShareSessionLimitReached):
        fetch(sessions, 0, A, key=other)
    sessions.close(KEY)
    fetch(sessions, 0, A, key=other)


def test_the_last_request_finds_its_session_whatever_the_epoch_was() -> None:
    sessions = ShareSessions(10)
    fetch(sessions, 0, A)
    fetch(sessions, 1)
    assert sessions.acknowledge(KEY, CLOSING_EPOCH, 1) is sessions.close(KEY)
    assert sessions.close(KEY) is None
    with pytest.raises(ShareSessionNotFound):
        fetch(sessions, CLOSING_EPOCH)


def test_a_lost_connection_ends_all_its_sessions() -> None:
    sessions = ShareSessions(10)
    for name in ("m1", "m2", "m3"):
        fetch(sessions, 0, A, key=SessionKey("g", name), connection=1 if name != "m3" else 2)
    assert [session.key.member_id for session in sessions.disconnected(1)] == ["m1", "m2"]
    assert sessions.disconnected(1) == []
    assert sessions.find(SessionKey("g", "m3")) is not None


def test_no_partition_is_always_the_last() -> None:
    sessions = ShareSessions(10)
    session = fetch(sessions, 0, A, B, C)
    firsts = {session.rotated()[0]}
    for epoch in (1, 2):
        firsts.add(fetch(sessions, epoch).rotated()[0])
    assert firsts == {A, B, C}
    assert ShareSession(KEY, 1).rotated() == []


def test_a_member_id_has_between_1_and_36_characters() -> None:
    assert not is_member_id(None)
    assert not is_member_id("")
    assert is_member_id("m" * 36)
    assert not is_member_id("m" * 37)


def test_sessions_have_a_limit_of_partitions_and_closing_one_makes_room() -> None:
    sessions = ShareSessions(10, partitions_max=2)
    session = fetch(sessions, 0, A)
    assert not sessions.add(session, A)
    fetch(sessions, 0, B, key=SessionKey("g", "m2"))
    with pytest.raises(ShareSessionLimitReached, match="2 partitions"):
        sessions.add(session, C)
    sessions.close(SessionKey("g", "m2"))
    assert sessions.add(session, C)
    assert sessions.partition_count == 2


def test_a_closed_session_does_not_change() -> None:
    sessions = ShareSessions(10)
    session = fetch(sessions, 0, A)
    sessions.close(KEY)
    assert not sessions.add(session, B)
    sessions.forget(session, A)
    assert list(session.partitions) == [A]
    assert sessions.partition_count == 0


def test_members_sit_idle_by_their_last_request_unless_they_wait_or_are_of_another_group() -> None:
    sessions = ShareSessions(10)
    for member, active_ms in (("m1", 0), ("m2", 100), ("m3", 300), ("m4", 200), ("m5", 50)):
        fetch(sessions, 0, A, key=SessionKey("g", member)).active_ms = active_ms
    fetch(sessions, 0, A, key=SessionKey("other", "m9"))
    waiting = sessions.find(SessionKey("g", "m5"))
    assert waiting is not None
    waiting.is_waiting = True
    assert sessions.idle(KEY, 150, now_ms=250) == (["m2"], 350)
    assert sessions.idle(KEY, 150, now_ms=500) == (["m2", "m3", "m4"], None)
    assert sessions.idle(SessionKey("g", "m4"), 150, now_ms=0) == ([], 150)
