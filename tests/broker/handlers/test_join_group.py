"""JoinGroup: members get their id first, and wait until all have joined."""

from __future__ import annotations

import pytest

from broker.handlers import APIS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import join, joining

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_a_newcomer_gets_its_id_first(client: Client) -> None:
    answer = client.call(joining("g"), 4)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("test-")


def test_before_v4_a_newcomer_joins_at_once(client: Client) -> None:
    answer = client.call(joining("g"), 3)
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.leader == answer.member_id
    assert [member.member_id for member in answer.members] == [answer.member_id]


def test_a_second_member_makes_the_first_join_again(gateway: Gateway, client: Client) -> None:
    first, generation = join(client, "g")
    other = gateway.client()
    second = other.call(joining("g"), 9).member_id
    other.send(joining("g", second), 9)
    gateway.settle()
    assert other.answers() == []
    leader = client.call(joining("g", first), 9)
    (follower,) = other.answers()
    assert leader.generation_id == follower.generation_id == generation + 1
    assert {member.member_id for member in leader.members} == {first, second}
    assert (follower.leader, follower.members) == (first, [])


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_outside_the_limits_is_refused(client: Client, session_ms: int) -> None:
    answer = client.call(joining("g", session_ms=session_ms), 9)
    assert answer.error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_group_needs_a_name(client: Client) -> None:
    assert client.call(joining(""), 9).error_code == ErrorCode.INVALID_GROUP_ID


def test_a_group_waits_for_more_members_before_its_first_generation() -> None:
    gateway = Gateway(group_initial_rebalance_delay_ms=3_000)
    client = gateway.client()
    member_id = client.call(joining("g"), 9).member_id
    client.send(joining("g", member_id), 9)
    gateway.advance(2_999)
    assert client.answers() == []
    gateway.advance(1)
    assert client.answers()[0].generation_id == 1


def test_a_long_subscription_is_read_by_a_thread(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug: in a group of the consumer protocol, one of 19,000 topics was a turn of 24 ms."""
    client.call(joining("g"), 4)
    prepared: list[int] = []
    monkeypatch.setattr(
        APIS[ApiKey.JOIN_GROUP], "_prepare", lambda request: prepared.append(len(request.protocols))
    )
    for count in (10, 1_500):
        topics = [f"topic-{number:06}" for number in range(count)]
        assert client.call(joining("g", topics=topics), 4).error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert prepared == [1] * (count > 10)
