"""Time runs out for idle connections, half-sent requests and answers that are not taken; for nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broker.connections.connection_reaper import (
    READ_BYTES_PER_SECOND_MIN,
    RELIEF_INTERVAL_MS,
    TAKEN_BYTES_PER_SECOND_MIN,
    TAKEN_WITHIN_MS,
)
from broker.loop.stats import Cause
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Client, Gateway, request_frame, take_outgoing
from tests.broker.kit import batch, create, fetching, producing

KIB = 1 << 10


def gateway_with(**settings: int) -> Gateway:
    """Return a gateway with time limits of a second, which sweeps every 100 ms."""
    limits: dict[str, Any] = {
        "connections_max_idle_ms": 1_000,
        "kawal_request_read_timeout_ms": 1_000,
        "kawal_response_write_timeout_ms": 1_000,
        **settings,
    }
    return Gateway(**limits)


def cause(client: Client) -> Cause | None:
    """Return why the connection is about to be closed, None when it is not."""
    return client.connection.close_cause if client.connection.aborted else None


def leave_unsent(client: Client) -> None:
    """Let the broker answer, and the client's socket take nothing of the answer."""
    client.send(ApiVersionsRequest(), 2)
    for connection in client.gateway.broker.take_unsent():
        connection.dirty = False
        connection.account()
    client.connection.unsent_since_ms = client.gateway.now_ms
    assert client.connection.outgoing


def half_a_request(size_bytes: int, sent_bytes: int) -> bytes:
    return request_frame(producing(("t", 0, batch(b"v" * size_bytes))), 9, 1)[:sent_bytes]


def test_an_idle_connection_ends() -> None:
    gateway = gateway_with()
    client = gateway.client()
    gateway.advance(999)
    assert cause(client) is None
    gateway.advance(200)
    assert cause(client) is Cause.IDLE


def test_a_connection_that_does_something_now_and_then_stays() -> None:
    gateway = gateway_with()
    client = gateway.client()
    for _ in range(10):
        gateway.advance(500)
        client.call(ApiVersionsRequest(), 2)
    assert cause(client) is None


def test_minus_one_lets_idle_connections_stay() -> None:
    gateway = gateway_with(connections_max_idle_ms=-1)
    client = gateway.client()
    gateway.advance(30_000)
    assert cause(client) is None


def test_a_reader_that_waits_is_not_idle() -> None:
    gateway = gateway_with()
    client = gateway.client()
    create(client, "t")
    client.send(fetching({("t", 0): 0}, max_wait_ms=60_000), 11)
    gateway.advance(50_000)
    assert cause(client) is None


def test_a_request_left_half_sent_ends_its_connection() -> None:
    gateway = gateway_with(connections_max_idle_ms=-1)
    client = gateway.client()
    client.send_bytes(half_a_request(100, 10))
    gateway.advance(900)
    assert cause(client) is None
    gateway.advance(300)
    assert cause(client) is Cause.READ_TIMEOUT


def test_one_byte_now_and_then_is_no_request() -> None:
    gateway = gateway_with()
    client = gateway.client()
    for byte in half_a_request(100, 20):
        client.send_bytes(bytes([byte]))
        gateway.advance(60)
    assert cause(client) is Cause.READ_TIMEOUT


def test_a_large_request_may_take_its_time_on_a_slow_line() -> None:
    gateway = gateway_with()
    client = gateway.client()
    create(client, "t")
    frame = half_a_request(1000 * KIB, 2000 * KIB)
    step = READ_BYTES_PER_SECOND_MIN * 5 // 4
    for position in range(0, len(frame) - step, step):
        client.send_bytes(frame[position : position + step])
        gateway.advance(1_000)
        assert cause(client) is None


def test_each_request_has_its_own_time() -> None:
    gateway = gateway_with()
    client = gateway.client()
    frame = request_frame(ApiVersionsRequest(), 2, 1)
    client.send_bytes(frame[:5])
    for _ in range(10):
        gateway.advance(600)
        client.send_bytes(frame[5:] + frame[:5])
        take_outgoing(client.connection)
        assert cause(client) is None


def test_a_request_that_is_not_read_for_our_sake_has_time_afterwards() -> None:
    gateway = gateway_with(kawal_connection_in_flight_requests=1)
    client = gateway.client()
    create(client, "t")
    client.send(fetching({("t", 0): 0}, max_wait_ms=30_000), 11)
    client.send_bytes(half_a_request(100, 10))
    gateway.advance(20_000)
    assert cause(client) is None


def test_answers_nobody_takes_end_the_connection() -> None:
    gateway = gateway_with(connections_max_idle_ms=-1)
    client = gateway.client()
    leave_unsent(client)
    gateway.advance(900)
    assert cause(client) is None
    gateway.advance(300)
    assert cause(client) is Cause.WRITE_TIMEOUT
    assert not client.connection.outgoing
    assert gateway.broker.memory.answers_bytes == 0


def test_an_answer_that_was_not_offered_yet_is_not_left_lying() -> None:
    """After a minute's silence the answer is made in the turn in which the reaper comes by."""
    gateway = gateway_with(connections_max_idle_ms=-1)
    client = gateway.client()
    gateway.now_ms += 60_000
    client.send(ApiVersionsRequest(), 2)
    assert client.connection.dirty
    gateway.tick()
    gateway.settle()
    assert cause(client) is None
    assert len(client.answers()) == 1


def test_thousands_of_connections_are_looked_at_in_slices() -> None:
    gateway = gateway_with()
    clients = [gateway.client() for _ in range(1_700)]
    gateway.advance(1_200)
    assert {cause(client) for client in clients} == {Cause.IDLE}


def test_without_connections_nothing_is_due() -> None:
    gateway = gateway_with()
    client = gateway.client()
    gateway.advance(1_200)
    client.close()
    gateway.advance(10_000)
    before = gateway.broker.timers.next_deadline()
    gateway.client()
    after = gateway.broker.timers.next_deadline()
    assert before is None or after is None or after <= before


@pytest.fixture
def full() -> tuple[Gateway, Client]:
    """Return a gateway whose memory for requests is filled by one half-sent request."""
    gateway = Gateway(queued_max_request_bytes=100 * KIB)
    client = gateway.client()
    create(client, "t")
    client.send_bytes(half_a_request(300 * KIB, 150 * KIB))
    assert gateway.broker.memory.requests_full
    return gateway, client


def holding(gateway: Gateway) -> Client:
    """Return a client with a small fetch that waits: it holds something, so the reserve is not for it."""
    client = gateway.client("10.0.0.1")
    create(client, "quiet")
    client.send(fetching({("quiet", 0): 0}, max_wait_ms=60_000), 11)
    return client


def test_full_memory_does_not_wait_for_who_leaves_a_request_half_sent(full: tuple[Gateway, Client]) -> None:
    gateway, stuck = full
    other = gateway.client()
    assert other.connection.saturated
    gateway.broker.intake.held_back(other.connection, gateway.now_ms)
    gateway.advance(RELIEF_INTERVAL_MS)
    assert cause(stuck) is Cause.MEMORY
    stuck.close()
    assert not other.connection.saturated


def test_full_memory_takes_room_from_many_who_leave_requests_half_sent() -> None:
    gateway = Gateway(queued_max_request_bytes=100 * KIB)
    other = gateway.client("10.0.0.1")
    create(other, "quiet")
    stuck = [gateway.client(f"10.0.1.{number}") for number in range(13)]
    for client in stuck:
        client.send_bytes(half_a_request(60 * KIB, 10 * KIB))
    stuck[1].connection.stalled = True  # no longer read: it may still be sending
    assert other.connection.saturated
    gateway.broker.intake.held_back(other.connection, gateway.now_ms)
    gateway.advance(RELIEF_INTERVAL_MS)
    ended = [number for number, client in enumerate(stuck) if cause(client) is Cause.MEMORY]
    assert ended == [0, 2, 3, 4, 5, 6, 7, 8]


def test_full_memory_lets_who_goes_on_sending_finish(full: tuple[Gateway, Client]) -> None:
    gateway, sender = full
    gateway.broker.intake.held_back(gateway.client().connection, gateway.now_ms)
    for _ in range(10):
        gateway.advance(RELIEF_INTERVAL_MS // 2)
        sender.send_bytes(b"v" * KIB)
    assert cause(sender) is None


def test_full_memory_answers_fetches_that_wait() -> None:
    gateway = Gateway(queued_max_request_bytes=60 * KIB)
    waiting = gateway.client()
    create(waiting, "t", partitions=80)
    other = holding(gateway)
    waiting.send(fetching({("t", index): 0 for index in range(80)}, max_wait_ms=60_000), 11)
    assert other.connection.saturated
    gateway.broker.intake.held_back(other.connection, gateway.now_ms)
    gateway.advance(RELIEF_INTERVAL_MS)
    assert len(waiting.answers()) == 1
    assert not other.answers(), "the lighter one waits on"
    assert not other.connection.saturated


def test_memory_full_of_answers_does_not_wait_for_who_takes_none() -> None:
    gateway = Gateway(kawal_queued_max_response_bytes=100)
    deaf = gateway.client()
    leave_unsent(deaf)
    gateway.broker.intake.held_back(deaf.connection, gateway.now_ms)
    gateway.advance(RELIEF_INTERVAL_MS)
    assert cause(deaf) is Cause.MEMORY
    assert not gateway.broker.memory.full


def left_lying(gateway: Gateway, size_bytes: int) -> Client:
    """Return a client with so many bytes of answers to be sent."""
    client = gateway.client()
    link = client.connection
    link.outgoing.append(bytes(size_bytes))
    link.outgoing_bytes = link.memory_bytes = size_bytes
    link.account()
    return client


def let_take(gateway: Gateway, client: Client, size_bytes: int) -> None:
    """Let a second pass, in which the client takes so much."""
    gateway.advance(RELIEF_INTERVAL_MS // 2)
    client.connection.sent(size_bytes)
    client.connection.unsent_since_ms = gateway.now_ms
    gateway.advance(RELIEF_INTERVAL_MS // 2)


@pytest.mark.parametrize(
    ("per_second", "ends"),
    [(1, True), (TAKEN_BYTES_PER_SECOND_MIN - 1, True), (TAKEN_BYTES_PER_SECOND_MIN, False)],
)
def test_memory_full_of_answers_waits_for_who_takes_enough_of_them(per_second: int, *, ends: bool) -> None:
    gateway = Gateway(kawal_queued_max_response_bytes=100)
    reader = left_lying(gateway, 40 * TAKEN_BYTES_PER_SECOND_MIN)
    gateway.broker.intake.held_back(reader.connection, gateway.now_ms)
    for _ in range(1 + TAKEN_WITHIN_MS // RELIEF_INTERVAL_MS):
        assert cause(reader) is None
        let_take(gateway, reader, per_second)
    assert (cause(reader) is Cause.MEMORY) is ends


def test_a_reader_whose_answers_come_from_files_keeps_no_memory_full() -> None:
    gateway = Gateway(kawal_queued_max_response_bytes=100)
    lying, reader = left_lying(gateway, 1_000), gateway.client()
    link = reader.connection
    link.outgoing.append(SimpleNamespace(size_bytes=1_000))
    link.outgoing_bytes = 1_000
    gateway.broker.intake.held_back(lying.connection, gateway.now_ms)
    gateway.advance(2 * RELIEF_INTERVAL_MS)
    assert (cause(lying), cause(reader)) == (Cause.MEMORY, None)


def test_a_reader_that_has_taken_all_begins_anew() -> None:
    gateway = Gateway(kawal_queued_max_response_bytes=100)
    fast = left_lying(gateway, 100 * TAKEN_BYTES_PER_SECOND_MIN)
    slow = left_lying(gateway, 9)
    gateway.broker.intake.held_back(fast.connection, gateway.now_ms)
    for second in range(2 * TAKEN_WITHIN_MS // RELIEF_INTERVAL_MS):
        slow.connection.unsent_since_ms = gateway.now_ms + RELIEF_INTERVAL_MS // 2
        let_take(gateway, fast, TAKEN_BYTES_PER_SECOND_MIN)
        if second == TAKEN_WITHIN_MS // RELIEF_INTERVAL_MS - 2:
            slow.connection.sent(9)
        if second == TAKEN_WITHIN_MS // RELIEF_INTERVAL_MS - 1:
            slow.connection.outgoing.append(b"more")
            slow.connection.outgoing_bytes = slow.connection.memory_bytes = 4
    assert cause(slow) is None
    assert gateway.broker.memory.full


def test_a_handshake_that_is_not_done_in_time_ends() -> None:
    listeners: Any = ("SSL://127.0.0.1:0",)
    gateway = gateway_with(listeners=listeners, kawal_connection_setup_timeout_ms=500)
    slow, done = gateway.client(), gateway.client()
    slow.connection.ready_by_ms = gateway.now_ms + 500
    gateway.advance(499)
    assert cause(slow) is None
    gateway.advance(100)
    assert (cause(slow), cause(done)) == (Cause.SETUP, None)
