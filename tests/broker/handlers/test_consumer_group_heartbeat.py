"""ConsumerGroupHeartbeat: the consumer protocol of KIP-848."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, given, joining

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_a_member_joins_and_gets_its_partitions(client: Client) -> None:
    answer = client.call(beating("g", "a", topics=["t"]), 1)
    assert (answer.error_code, answer.member_id, answer.heartbeat_interval_ms) == (0, "a", 3_000)
    assert list((given(answer) or {}).values()) == [[0, 1, 2, 3]]


def test_two_members_share_the_partitions(gateway: Gateway, client: Client) -> None:
    first = client.call(beating("g", "a", topics=["t"]), 1)
    held = given(first)
    assert held is not None
    (topic_id,) = held
    second = client.call(beating("g", "b", topics=["t"]), 1)
    shrunk = client.call(beating("g", "a", first.member_epoch, owned=held), 1)
    left = given(shrunk)
    assert left is not None
    assert len(left[topic_id]) == 2
    freed = client.call(beating("g", "a", shrunk.member_epoch, owned=left), 1)
    taken = given(client.call(beating("g", "b", second.member_epoch, owned={}), 1)) or given(second)
    assert freed.error_code == 0
    assert taken is not None
    assert sorted(left[topic_id] + taken[topic_id]) == [0, 1, 2, 3]


def test_a_member_that_leaves_is_forgotten(client: Client) -> None:
    joined = client.call(beating("g", "a", topics=["t"]), 1)
    assert client.call(beating("g", "a", -1), 1).member_epoch == -1
    late = client.call(beating("g", "a", joined.member_epoch), 1)
    assert late.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_another_epoch_is_fenced(client: Client) -> None:
    joined = client.call(beating("g", "a", topics=["t"]), 1)
    answer = client.call(beating("g", "a", joined.member_epoch + 5), 1)
    assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_bad_pattern_is_refused(client: Client) -> None:
    answer = client.call(beating("g", "a", regex="("), 1)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_what_was_assigned_survives_a_crash(gateway: Gateway, client: Client) -> None:
    joined = client.call(beating("g", "a", topics=["t"]), 1)
    gateway.crash()
    gateway.advance(10)
    client = gateway.client()
    beat = client.call(beating("g", "a", joined.member_epoch, owned=given(joined)), 1)
    assert (beat.error_code, beat.member_epoch) == (0, joined.member_epoch)


def test_classic_members_may_join_the_group_too(gateway: Gateway, client: Client) -> None:
    client.call(beating("g", "a", topics=["t"]), 1)
    assert gateway.client().call(joining("g"), 4).error_code == ErrorCode.MEMBER_ID_REQUIRED
