"""A connection: answers leave in request order, memory is bounded, and nothing outlives the client."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from broker.config.config import Config
from broker.connections.answer_encoding import part_size_bytes
from broker.connections.connection import Connection
from broker.connections.memory_limits import MemoryLimits
from broker.loop.call import Call
from broker.loop.stats import Cause, Stats
from protocol.api_keys import ApiKey
from protocol.errors import Malformed
from protocol.framing import BufferPool
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.broker.gateway import Client, Gateway, request_frame, take_outgoing
from tests.broker.kit import batch, create, fetching, producing, send


def connection() -> Connection:
    return Connection(
        identity=1,
        peer="[::1]:5000",
        request_bytes_max=1 << 20,
        pool=BufferPool(),
        unsent=[],
        memory=MemoryLimits(Config()),
        stats=Stats(),
    )


def opened(link: Connection, correlation_id: int, version: int = 1) -> Call[Any]:
    data = request_frame(FindCoordinatorRequest(key="g"), version, correlation_id)[4:]
    call, position = link.open_call(memoryview(data), data_owned=True, now_ms=7)
    assert (call.correlation_id, call.received_ms, call.client_id) == (correlation_id, 7, "test")
    assert call.api_key == ApiKey.FIND_COORDINATOR
    assert 0 < position < len(data)
    return call


ANSWER = FindCoordinatorResponse(node_id=1, host="h", port=2)


def correlation_ids(data: bytes) -> list[int]:
    found, position = [], 0
    while position < len(data):
        size, correlation_id = struct.unpack_from(">ii", data, position)
        found.append(correlation_id)
        position += 4 + size
    return found


def test_answers_leave_in_request_order_when_a_later_one_is_ready_first() -> None:
    link = connection()
    calls = [opened(link, number) for number in range(4)]
    for number in (2, 1):
        calls[number].reply(ANSWER)
        assert not link.outgoing
    calls[0].reply(ANSWER)
    assert correlation_ids(take_outgoing(link)) == [0, 1, 2]
    calls[3].reply(ANSWER)
    assert correlation_ids(take_outgoing(link)) == [3]


def test_a_call_without_an_answer_takes_no_place() -> None:
    link = connection()
    first, second, third = (opened(link, number) for number in range(3))
    second.drop()
    third.reply(ANSWER)
    first.reply(ANSWER)
    assert correlation_ids(take_outgoing(link)) == [0, 2]


def test_a_call_is_answered_once() -> None:
    link = connection()
    call = opened(link, 1)
    call.reply(ANSWER)
    with pytest.raises(AssertionError, match="once"):
        call.reply(ANSWER)
    with pytest.raises(AssertionError, match="once"):
        call.drop()


def test_it_is_listed_once_however_many_answers_it_has() -> None:
    link = connection()
    for number in range(3):
        opened(link, number).reply(ANSWER)
    link.close("enough")
    assert link.unsent == [link]


def test_what_is_held_is_counted_and_given_back() -> None:
    link = connection()
    calls = [opened(link, number) for number in range(3)]
    link.account()
    assert link.request_bytes == link.memory.requests_bytes > 0
    for call in calls:
        call.reply(ANSWER)
    link.account()
    assert (link.request_bytes, link.memory.requests_bytes) == (0, 0)
    assert link.outgoing_bytes == link.memory.answers_bytes == sum(map(part_size_bytes, link.outgoing))
    link.sent(5)
    link.sent(link.outgoing_bytes)
    assert (link.outgoing_bytes, link.memory_bytes, link.memory.answers_bytes, len(link.outgoing)) == (
        0,
        0,
        0,
        0,
    )


def test_a_partly_sent_buffer_stays_until_its_last_byte_has_left() -> None:
    link = connection()
    opened(link, 1).reply(ANSWER)
    size = link.outgoing_bytes
    for _ in range(size - 1):
        link.sent(1)
        assert len(link.outgoing) == 1
    assert link.head_sent == size - 1
    link.sent(1)
    assert (link.head_sent, len(link.outgoing)) == (0, 0)


def test_more_cannot_be_sent_than_there_was() -> None:
    link = connection()
    opened(link, 1).reply(ANSWER)
    with pytest.raises(AssertionError, match="more was sent"):
        link.sent(link.outgoing_bytes + 1)


def test_the_first_reason_to_close_is_the_one_that_counts() -> None:
    link = connection()
    link.close("first", Cause.ACKS_NONE)
    link.close("second")
    assert (link.close_reason, link.close_cause) == ("first", Cause.ACKS_NONE)


def test_answers_given_before_the_close_are_still_sent() -> None:
    link = connection()
    opened(link, 1).reply(ANSWER)
    link.close("bad bytes")
    assert correlation_ids(take_outgoing(link)) == [1]


def test_an_aborted_connection_sends_nothing_more() -> None:
    link = connection()
    first, second = opened(link, 1), opened(link, 2)
    first.reply(ANSWER)
    link.abort("too slow", Cause.WRITE_TIMEOUT)
    second.reply(ANSWER)
    assert (len(link.outgoing), link.outgoing_bytes, link.memory.answers_bytes) == (0, 0, 0)


def test_a_lost_client_is_told_nothing_and_its_waits_are_withdrawn() -> None:
    class Keeper:
        cancelled: list[object] = []  # noqa: RUF012

        def cancel(self, call: object) -> None:
            self.cancelled.append(call)

    link = connection()
    answered, parked, running = (opened(link, number) for number in range(3))
    parked.holder = Keeper()
    answered.reply(ANSWER)
    link.lost()
    assert Keeper.cancelled == [parked]
    running.reply(ANSWER)
    parked.reply(ANSWER)
    assert (len(link.outgoing), len(link.calls)) == (0, 0)
    assert (link.memory.requests_bytes, link.memory.answers_bytes) == (0, 0)


def test_a_frame_too_short_for_a_header_is_malformed() -> None:
    link = connection()
    with pytest.raises(Malformed):
        link.open_call(memoryview(b"\0\1\0\0\0"), data_owned=True, now_ms=0)
    assert not link.calls


@pytest.mark.parametrize(
    ("peer", "host"),
    [("10.0.0.9:5000", "10.0.0.9"), ("[::1]:5000", "::1"), ("fe80::1%eth0:9", "fe80::1%eth0")],
)
def test_the_host_is_the_peer_without_its_port(peer: str, host: str) -> None:
    link = connection()
    link.peer = peer
    assert link.host == host


# --- through a whole broker --------------------------------------------------------------------------------


def parked_fetches(client: Client, count: int) -> None:
    for _ in range(count):
        client.send(fetching({("t", 0): 0}, max_wait_ms=30_000), 12)


def test_a_client_with_too_many_calls_is_not_read_and_resumes() -> None:
    gateway = Gateway(kawal_connection_in_flight_requests=10)
    client = gateway.client()
    create(client, "t")
    parked_fetches(client, 50)
    assert client.connection.saturated
    assert len(client.connection.calls) == 10
    assert client.unread
    send(gateway.client(), "t", batch(b"a"))
    assert len(client.answers()) == 50
    assert not client.unread
    assert not client.connection.saturated


def test_a_client_with_too_many_bytes_in_work_is_not_read_and_resumes() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=100_000)
    client = gateway.client()
    create(client, "t")
    for _ in range(20):
        client.send(producing(("t", 0, batch(bytes(30_000)))), 9)
    assert client.connection.saturated
    assert client.connection.request_bytes < 200_000
    gateway.settle()
    seen = 0
    for _ in range(20):
        seen += len(client.answers())
        gateway.settle()
    assert seen == 20


def test_a_slow_reader_costs_no_more_than_its_limit() -> None:
    gateway = Gateway(kawal_connection_unsent_bytes=1 << 20)
    client = gateway.client()
    create(client, "t")
    for _ in range(5):
        send(client, "t", batch(bytes(200_000)))
    for _ in range(100):
        client.send(fetching({("t", 0): 0}), 12)
    assert client.connection.outgoing_bytes < 3 << 20
    assert client.unread
    assert len(client.answers()) == 100


def test_requests_of_one_read_are_all_served() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    for number in range(100):
        client.send(producing(("t", 0, batch(b"%d" % number))), 9)
    gateway.settle()
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in client.answers()]
    assert offsets == list(range(100))
