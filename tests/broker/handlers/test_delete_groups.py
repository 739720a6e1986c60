"""DeleteGroups: empty groups are deleted with their offsets."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import commit, committed, join

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_each_group_has_its_own_answer(client: Client) -> None:
    commit(client, "idle", ("t", 0, 1))
    join(client, "busy")
    answer = client.call(DeleteGroupsRequest(groups_names=["idle", "busy", "unknown"]), 2)
    assert {result.group_id: result.error_code for result in answer.results} == {
        "idle": 0,
        "busy": ErrorCode.NON_EMPTY_GROUP,
        "unknown": ErrorCode.GROUP_ID_NOT_FOUND,
    }


def test_a_deleted_group_stays_deleted(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 1), ("t", 1, 1))
    client.call(DeleteGroupsRequest(groups_names=["g"]), 2)
    gateway.crash()
    gateway.advance(10)
    client = gateway.client()
    assert committed(client, "g") == {}
    assert client.call(ListGroupsRequest(), 5).groups == []
