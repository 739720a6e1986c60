"""ConsumerGroupHeartbeat: the consumer protocol of KIP-848."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.handlers import APIS, consumer_group_heartbeat, share_group_heartbeat
from broker.loop.slices import run_here
from groups import regexes
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, given, joining
from tests.broker.kit import create
from tests.broker.wide_requests import Lines, Threads

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


@pytest.fixture
def searching(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Threads:
    """Have a thread search for the topics of each new pattern; the test says when."""
    monkeypatch.setattr(regexes, "TOPICS_AT_ONCE", 0)
    threads = Threads()
    gateway.broker.scheduler.offload = threads.offload
    return threads


def index_of(gateway: Gateway) -> regexes.RegexIndex:
    with gateway.broker.groups.step(gateway.now_ms) as coordinator:
        return coordinator.regexes


def test_a_thread_finds_the_topics_of_a_new_pattern_while_others_are_served(
    gateway: Gateway, client: Client, searching: Threads
) -> None:
    client.send(beating("g", "a", regex="t.*"), 1)
    gateway.settle()
    assert client.answers() == []
    create(gateway.client(), "t2")
    for done in searching.take():
        done()
    gateway.settle()
    (answer,) = client.answers()
    assert sorted(map(len, (given(answer) or {}).values())) == [1, 4]
    assert index_of(gateway).searches == []


def test_a_member_that_leaves_during_the_search_for_its_pattern_leaves_nothing_behind(
    gateway: Gateway, client: Client, searching: Threads
) -> None:
    client.send(beating("g", "a", regex="t.*"), 1)
    gateway.settle()
    assert len(index_of(gateway).searches) == 1
    gateway.broker.disconnect(client.connection)
    for done in searching.take():
        done()
    gateway.settle()
    assert index_of(gateway).searches == []
    other = gateway.client()
    assert other.call(beating("g", "a", 1), 1).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_pattern_whose_groups_are_forgotten_meanwhile_is_searched_no_further(
    gateway: Gateway, client: Client, searching: Threads
) -> None:
    client.call(beating("h", "b", topics=["t"]), 1)
    client.send(beating("g", "a", regex="t.*"), 1)
    gateway.settle()
    gateway.broker.scheduler.offload = run_here
    gateway.client().call(DeleteTopicsRequest(topic_names=["__consumer_offsets"], timeout_ms=0), 3)
    for done in searching.take():
        done()
    gateway.settle()
    (answer,) = client.answers()
    assert list((given(answer) or {}).values()) == [[0, 1, 2, 3]]


def test_a_heartbeat_that_gets_very_many_topics_runs_few_lines_for_each(
    gateway: Gateway, client: Client
) -> None:
    count = 300
    for number in range(count):
        create(client, f"many{number}")
    # What is imported, and encoders.
    client.call(beating("g", "a", topics=["t"]), 1)
    wide = beating("g", "b", topics=[f"many{number}" for number in range(count)])
    lines = Lines()
    lines.run("joining", client.send, wide, 1)
    gateway.settle()
    (answer,) = client.answers()
    assert len(given(answer) or {}) == count
    assert lines.longest.size < 180 * count, lines.longest


@pytest.mark.parametrize("prepare", [consumer_group_heartbeat.prepare, share_group_heartbeat.prepare])
def test_a_thread_sorts_the_names_of_a_wide_heartbeat(prepare: Callable[[Any], None]) -> None:
    request = beating("g", "a", topics=["b", "a", "b"])
    prepare(request)
    assert list(request.subscribed_topic_names or ()) == ["a", "b"]
    request = beating("g", "a")
    prepare(request)
    assert request.subscribed_topic_names is None


@pytest.mark.parametrize("count", [1, 3_000])
def test_only_a_heartbeat_that_a_thread_has_decoded_is_prepared(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    client.call(beating("g", "first", topics=["t"]), 1)
    prepared: list[int] = []

    def prepare(request: Any) -> None:
        prepared.append(len(request.subscribed_topic_names))

    monkeypatch.setattr(APIS[ApiKey.CONSUMER_GROUP_HEARTBEAT], "_prepare", prepare)
    client.send(beating("g", "a", topics=["t", *(f"n{number}" for number in range(count))]), 1)
    gateway.settle()
    gateway.advance(10)
    (answer,) = client.answers()
    assert answer.error_code == 0
    assert prepared == ([count + 1] if count > 1 else [])
