"""Envelope: the request inside is served as its client's own; clients cannot send any."""

from __future__ import annotations

from typing import Any

import pytest

from broker.connections.envelopes import (
    VERSION,
    VERSION_TAG,
    Sender,
    address_bytes,
    principal_bytes,
    tags_of,
)
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from protocol.messages.metadata import MetadataRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway, decode_answer, request_frame
from tests.broker.kit import creation

ALICE = Sender("User:alice", False, "10.0.0.7", "INSIDE", ("gateway", 9092))


def enveloped(request: Any, version: int, sender: Sender = ALICE) -> Any:
    envelope: Any = EnvelopeRequest(
        request_data=request_frame(request, version, 77)[4:],
        request_principal=principal_bytes(sender),
        client_host_address=address_bytes(sender.host),
    )
    envelope.unknown_tags = tags_of(sender)
    return envelope


def making(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[creation(name)], timeout_ms=1000)


def test_the_answer_is_that_of_the_request_inside_with_its_correlation_id() -> None:
    cluster = Cluster(2)
    answer: EnvelopeResponse = cluster.ask(0, enveloped(making("t"), 7), 0)
    assert answer.error_code == ErrorCode.NONE
    assert answer.response_data is not None
    inside = decode_answer(CreateTopicsResponse, 7, 77, bytes(answer.response_data))
    assert [(topic.name, topic.error_code) for topic in inside.topics] == [("t", 0)]
    assert "t" in cluster[0].broker.catalogue.by_name


def test_it_names_a_version_of_the_catalogue_that_has_the_change() -> None:
    cluster = Cluster(2)
    answer = cluster.ask(0, enveloped(making("t"), 7), 0)
    (version,) = VERSION.unpack(answer.unknown_tags[VERSION_TAG])
    cluster.settle()
    assert cluster[1].following.version >= version > 0
    assert "t" in cluster[1].broker.catalogue.by_name


def test_no_connection_is_left_behind() -> None:
    cluster = Cluster(2)
    broker = cluster[0].broker
    cluster.ask(0, enveloped(making("t"), 7), 0)
    assert broker.connections
    assert all(connection.from_peer for connection in broker.connections.values())
    assert not any(connection.forwarded for connection in broker.connections.values())


@pytest.mark.parametrize(
    "wrong",
    [
        enveloped(MetadataRequest(topics=None), 12),
        EnvelopeRequest(request_data=b"", request_principal=b"", client_host_address=b""),
        EnvelopeRequest(
            request_data=b"\0\x13\0\x07",
            request_principal=principal_bytes(ALICE),
            client_host_address=b"\x0a\0\0\x07",
        ),
        EnvelopeRequest(
            request_data=request_frame(making("t"), 7, 1)[4:],
            request_principal=principal_bytes(ALICE),
            client_host_address=b"\x0a",
        ),
    ],
    ids=["not forwarded", "nothing inside", "cut inside", "no address"],
)
def test_an_envelope_that_cannot_be_served_is_refused(wrong: EnvelopeRequest) -> None:
    cluster = Cluster(2)
    answer = cluster.ask(0, wrong, 0)
    assert (answer.error_code, answer.response_data) == (ErrorCode.INVALID_REQUEST, None)
    assert "t" not in cluster[0].broker.catalogue.by_name


def test_a_node_that_is_not_the_controller_serves_none() -> None:
    answer = Cluster(2).ask(1, enveloped(making("t"), 7), 0)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("gateway", [Gateway(), Cluster(2)[0]], ids=["one node", "controller"])
def test_a_client_that_sends_one_loses_its_connection(gateway: Gateway) -> None:
    client = gateway.client()
    client.send(enveloped(making("t"), 7), 0)
    gateway.settle()
    assert client.connection.close_reason == "api 58 is not served"
    assert client.answers() == []
    assert "t" not in gateway.broker.catalogue.by_name
