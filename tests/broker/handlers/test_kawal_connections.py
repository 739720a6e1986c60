"""KawalConnections: the connected clients, in order, a bounded number in one answer."""

from __future__ import annotations

import pytest

from broker.handlers import kawal_connections
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.kawal_connections import ConnectionInfo, KawalConnectionsRequest
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, fetching


def rows(client: Client, after: int = 0) -> list[ConnectionInfo]:
    answer = client.call(KawalConnectionsRequest(after=after), 0)
    assert answer.error_code == 0
    found: list[ConnectionInfo] = answer.connections
    return found


def test_a_client_is_shown_with_its_software_and_what_it_does(gateway: Gateway) -> None:
    reader, other = gateway.client(), gateway.client()
    create(other, "t")
    reader.call(ApiVersionsRequest(client_software_name="kgo", client_software_version="1.2"), 3)
    reader.send(fetching({("t", 0): 0}, max_wait_ms=60_000), 12)
    gateway.now_ms += 1500
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)
    found, asking = rows(other)
    assert (found.software_name, found.software_version, found.client_id) == ("kgo", "1.2", "test")
    assert (found.address, found.connected_ms, found.idle_ms) == ("10.0.0.9:5000", START_MS, 1500)
    assert (found.requests, found.unanswered, found.parked) == (2, 1, 1)
    assert found.received_bytes > 0
    assert found.memory_bytes > 0
    assert found.sent_bytes > 0
    assert (asking.software_name, asking.unanswered, asking.parked, asking.idle_ms) == ("", 1, 0, 0)


def test_an_answer_is_bounded_and_says_where_to_go_on(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kawal_connections, "ROWS_MAX", 2)
    clients = [gateway.client() for _ in range(5)]
    clients[1].close()
    seen, after, answers = list[int](), 0, 0
    while after != -1:
        answer = clients[4].call(KawalConnectionsRequest(after=after), 0)
        seen += [found.connection_id for found in answer.connections]
        after, answers = answer.next_after, answers + 1
    assert seen == [clients[number].connection.identity for number in (0, 2, 3, 4)]
    assert answers == 2


def test_a_client_that_leaves_meanwhile_is_left_out(gateway: Gateway) -> None:
    leaving, asking = gateway.client(), gateway.client()
    gateway.broker.scheduler.soon(leaving.close)
    asking.send(KawalConnectionsRequest(), 0)
    gateway.settle()
    (answer,) = asking.answers()
    assert [found.connection_id for found in answer.connections] == [asking.connection.identity]
