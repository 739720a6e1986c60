"""Events say who sends a request, from where, and which."""

from __future__ import annotations

from broker.loop.auditor import actor_of, api_name, client_of
from broker.loop.call import Call
from protocol.api_keys import ApiKey
from protocol.headers import RequestHeader
from tests.broker.audited import Audited


def test_the_actor_of_a_request() -> None:
    gateway = Audited()
    connection = gateway.of("User:alice", "10.0.0.7").connection
    header = RequestHeader(
        api_key=ApiKey.CREATE_TOPICS, api_version=7, correlation_id=1, client_id="me", size_bytes=0
    )
    call: Call[object] = Call(connection, header, 0, 0, True)
    assert actor_of(call) == {**client_of(connection), "client_id": "me", "request": "CREATE_TOPICS v7"}
    assert client_of(connection) == {
        "user": "User:alice",
        "address": connection.peer,
        "listener": "INSIDE",
        "connection": connection.identity,
    }
    assert api_name(3) == "METADATA"
