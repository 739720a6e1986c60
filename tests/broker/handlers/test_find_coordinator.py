"""FindCoordinator: this node coordinates everything."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.gateway import Client, Gateway


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("key", ["group", ""])
def test_one_key_is_answered_with_this_node(version: int, key: str) -> None:
    answer = Gateway().client().call(FindCoordinatorRequest(key=key, key_type=0), version)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (0, 1, "gateway", 9092)


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("key_type", [0, 1])
def test_many_keys_are_answered_in_their_order(version: int, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["b", "a", "b"])
    found = Gateway().client().call(request, version).coordinators
    assert [
        (coordinator.key, coordinator.error_code, coordinator.node_id, coordinator.host, coordinator.port)
        for coordinator in found
    ] == [(key, 0, 1, "gateway", 9092) for key in ("b", "a", "b")]


def test_no_keys_are_answered_with_none() -> None:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[])
    assert Gateway().client().call(request, 4).coordinators == []


@pytest.mark.parametrize("key_type", [-1, 3, 100])
def test_other_kinds_of_keys_are_refused(key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"])
    (found,) = Gateway().client().call(request, 5).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)


@pytest.mark.parametrize("version", [2, 5])
def test_a_producer_is_told_once_that_there_is_no_coordinator_when_it_has_moved(version: int) -> None:
    """librdkafka tried the old address of the coordinator for ever."""
    gateway = Gateway()
    older = gateway.client()
    gateway.now_ms += 1
    gateway.broker.nodes.moves.note(gateway.broker.nodes.own_id, gateway.now_ms)
    newer = gateway.client()

    def code(client: Client, key_type: int) -> int:
        keys = {"key": "x"} if version < 4 else {"coordinator_keys": ["x"]}
        answer = client.call(FindCoordinatorRequest(key_type=key_type, **keys), version)
        return int(answer.error_code if version < 4 else answer.coordinators[0].error_code)

    assert [code(newer, key_type) for key_type in (0, 1, 1)] == [0, ErrorCode.COORDINATOR_NOT_AVAILABLE, 0]
    assert newer.connection.close_reason is None
    assert code(older, 0) == 0
    assert older.connection.close_reason is None
    assert code(older, 1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    gateway.broker.scheduler.run()
    assert older.connection.close_reason == "node 1 has moved"
