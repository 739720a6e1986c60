"""KawalGreet: a connection becomes a node's by the proof of the secret, and by nothing else."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import pytest

from broker.security.node_greeting import (
    NONCE_BYTES,
    Greeter,
    Hello,
    Reply,
    is_proof,
    proof_of_asked,
    proof_of_asking,
)
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_follow import KawalFollowRequest
from protocol.messages.kawal_greet import KawalGreetRequest
from tests.broker.gateway import Client, Gateway

SECRET = b"0123456789abcdef"
HELLO = Hello(1, 0, 3, "", b"h" * NONCE_BYTES)


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway()
    gateway.broker.nodes.greeter = Greeter(SECRET, number=0, count=3, random=Random(1))
    return gateway


def greet(client: Client, hello: Hello = HELLO, proof: bytes = b"") -> Any:
    return client.call(
        KawalGreetRequest(
            number=hello.number,
            to=hello.to,
            count=hello.nodes,
            cluster_id=hello.cluster_id,
            nonce=hello.nonce,
            proof=proof,
        ),
        0,
    )


def is_node(client: Client) -> bool:
    return client.connection.from_peer


def test_a_node_with_the_secret_may_follow_the_catalogue(gateway: Gateway) -> None:
    client = gateway.client()
    nonce = bytes(greet(client).nonce)
    assert not is_node(client)
    answer = greet(client, proof=proof_of_asking(SECRET, HELLO, nonce))
    reply = Reply(0, gateway.broker.cluster_id, answer.clock_ms)
    assert (answer.error_code, answer.cluster_id) == (ErrorCode.NONE, gateway.broker.cluster_id)
    assert is_proof(bytes(answer.proof), proof_of_asked(SECRET, HELLO, nonce, reply))
    assert answer.clock_ms <= gateway.now_ms
    assert is_node(client)
    assert client.call(KawalFollowRequest(), 0).error_code == ErrorCode.NONE


def test_a_wrong_proof_is_refused_ends_the_connection_and_is_logged_once(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            client = gateway.client()
            nonce = bytes(greet(client).nonce)
            answer = greet(client, proof=proof_of_asking(b"fedcba9876543210", HELLO, nonce))
            assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            assert (answer.cluster_id, bytes(answer.proof)) == ("", b"")
            assert client.connection.close_reason is not None
            assert not is_node(client)
    assert len([line for line in caplog.messages if "has another secret" in line]) == 1


def test_a_proof_that_was_overheard_is_good_on_no_other_connection(gateway: Gateway) -> None:
    client, other = gateway.client(), gateway.client()
    proof = proof_of_asking(SECRET, HELLO, bytes(greet(client).nonce))
    greet(other)
    assert greet(other, proof=proof).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (HELLO._replace(cluster_id="other"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (HELLO._replace(nodes=2), ErrorCode.INVALID_CONFIG),
        (HELLO._replace(to=2), ErrorCode.BROKER_ID_NOT_REGISTERED),
    ],
)
def test_a_node_of_another_cluster_or_number_is_not_let_in(
    gateway: Gateway, hello: Hello, code: ErrorCode
) -> None:
    client = gateway.client()
    nonce = bytes(greet(client, hello).nonce)
    answer = greet(client, hello, proof_of_asking(SECRET, hello, nonce))
    assert answer.error_code == code
    reply = Reply(code, gateway.broker.cluster_id, answer.clock_ms)
    assert is_proof(bytes(answer.proof), proof_of_asked(SECRET, hello, nonce, reply))
    assert not is_node(client)


@pytest.mark.parametrize("nonce", [b"", b"short", bytes(100)])
def test_a_greeting_with_odd_random_bytes_ends_the_connection(gateway: Gateway, nonce: bytes) -> None:
    client = gateway.client()
    client.send(KawalGreetRequest(nonce=nonce), 0)
    gateway.settle()
    assert client.answers() == []
    assert client.connection.close_reason == "api 30011 is not served"


def test_a_server_without_nodes_on_other_machines_does_not_know_the_request() -> None:
    gateway = Gateway()
    client = gateway.client()
    client.send(KawalGreetRequest(nonce=HELLO.nonce), 0)
    gateway.settle()
    assert client.connection.close_reason == "api 30011 is not served"
