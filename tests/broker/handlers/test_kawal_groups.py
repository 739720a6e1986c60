"""KawalGroups: members and progress of groups, with log ends and lag."""

from __future__ import annotations

import pytest

from broker.handlers.kawal_groups import GROUPS_PER_SLICE
from protocol.messages.kawal_groups import KawalGroupsRequest, KawalGroupsResponse
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, commit, join
from tests.broker.kit import batch, create, send

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}


@pytest.fixture
def client(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a", b"b", b"c"))
    return client


def ask(client: Client, *group_ids: str) -> KawalGroupsResponse:
    answer = client.call(KawalGroupsRequest(group_ids=list(group_ids) or None), 0)
    assert isinstance(answer, KawalGroupsResponse)
    assert answer.error_code == 0
    return answer


def test_members_of_both_protocols_are_shown(client: Client) -> None:
    join(client, "classic")
    client.call(beating("consumer", "m", topics=["t"]), 1)
    found = {consumer.group_id: consumer for consumer in ask(client).consumers}
    assert set(found) == {"classic", "consumer"}
    assert found["consumer"].consumer_id == "m"
    assert found["classic"].topics == found["consumer"].topics == ["t"]
    assert all(consumer.up_ms > 0 and consumer.subscribe_ms > 0 for consumer in found.values())


def test_progress_is_shown_with_log_ends_and_lag(client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    first, second = ask(client, "g").subscriptions
    assert (first.topic, first.partition, first.vnode) == ("t", 0, "default/vnode-0")
    assert (first.offset, first.log_start, first.end_offset, first.lag) == (1, 0, 3, 2)
    assert first.lag_ms >= 0
    assert (second.offset, second.end_offset, second.lag, second.lag_ms) == (-1, 0, 0, 0)
    assert first.consumer_id is None


def test_only_groups_that_were_named_are_shown(client: Client) -> None:
    commit(client, "a", ("t", 0, 1))
    commit(client, "b", ("t", 0, 2))
    assert {row.group_id for row in ask(client, "b", "b", "no such group").subscriptions} == {"b"}


def test_more_groups_than_a_slice_takes_are_all_shown(client: Client) -> None:
    names = [f"g{number:03}" for number in range(3 * GROUPS_PER_SLICE)]
    for name in names:
        commit(client, name, ("t", 1, 0))
    shown = ask(client).subscriptions
    assert [row.group_id for row in shown if row.partition == 1] == names
