"""ListGroups: all groups, or those of some states and types."""

from __future__ import annotations

import pytest

from protocol.messages.list_groups import ListGroupsRequest
from tests.broker.gateway import Client
from tests.broker.groups import beating, commit, join

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_groups_are_listed_with_state_and_type(client: Client) -> None:
    commit(client, "offsets", ("t", 0, 1))
    join(client, "classic")
    client.call(beating("consumer", "m", topics=["t"]), 1)
    listed = client.call(ListGroupsRequest(), 5).groups
    assert {
        (group.group_id, group.protocol_type, group.group_state, group.group_type) for group in listed
    } == {
        ("offsets", "", "Empty", "classic"),
        ("classic", "consumer", "Stable", "classic"),
        ("consumer", "consumer", "Stable", "consumer"),
    }


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"states_filter": ["empty"]}, {"offsets"}),
        ({"types_filter": ["Consumer"]}, {"consumer"}),
        ({"states_filter": ["Stable"], "types_filter": ["classic"]}, {"classic"}),
        ({"states_filter": ["Dead"]}, set()),
    ],
)
def test_groups_are_filtered_whatever_the_case(
    client: Client, filters: dict[str, list[str]], names: set[str]
) -> None:
    commit(client, "offsets", ("t", 0, 1))
    join(client, "classic")
    client.call(beating("consumer", "m", topics=["t"]), 1)
    assert {group.group_id for group in client.call(ListGroupsRequest(**filters), 5).groups} == names
