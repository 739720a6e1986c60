"""Memory that is full of unfinished requests empties again, whichever of them may be heavy."""

from __future__ import annotations

from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.connections.test_memory_limits import KIB, settle
from tests.broker.gateway import Gateway


def test_memory_full_of_unfinished_requests_does_not_keep_the_floor_waiting_for_a_heavy_turn() -> None:
    gateway = Gateway(queued_max_request_bytes=500 * KIB, kawal_memory_share_per_ip=1.0)
    clients = [gateway.client(f"10.0.0.{number}") for number in range(2)]
    names = [MetadataRequestTopic(name=f"{number:01000}") for number in range(400)]
    request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
    frames = [client.frame(request, 9) for client in clients]
    for client, frame in zip(clients, frames, strict=True):
        client.send_bytes(frame[: 300 * KIB])
    memory, (floor, other) = gateway.broker.memory, (client.connection for client in clients)
    assert (memory.floor, memory.requests_full) == (floor, True)
    # A heavy request has ended, and the turn is the other's, which memory would hold back.
    memory.heavy_next = other
    for client, frame in zip(clients, frames, strict=True):
        client.send_bytes(frame[300 * KIB :])
    found = [answer for _ in range(9) for client in clients for answer in settle(client)]
    assert [len(answer.topics) for answer in found] == [400] * 2
    assert memory.requests_bytes == 0
