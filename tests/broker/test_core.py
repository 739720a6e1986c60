"""The broker as a state machine: requests it serves or refuses, its deadlines, and its stop."""

from __future__ import annotations

import errno
import logging
import struct
from typing import Any

import pytest

import broker.handlers.find_coordinator
from broker.errors import RequestError
from broker.loop.stats import Cause
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import START_MS, Client, Gateway, request_frame
from tests.broker.kit import batch, create, fetching, producing, read, send
from wal.memory_faults import failing


def header(api_key: int, version: int) -> bytes:
    body = struct.pack(">hhihx", api_key, version, 5, -1)
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize(
    ("api_key", "version"),
    [(9_999, 0), (-1, 0), (ApiKey.FETCH, 3), (ApiKey.FETCH, 99), (ApiKey.PRODUCE, 2), (ApiKey.METADATA, 99)],
)
def test_an_api_or_version_that_is_not_served_ends_the_connection(
    client: Client, api_key: int, version: int
) -> None:
    client.send_bytes(header(api_key, version))
    assert client.connection.close_cause is Cause.PROTOCOL
    assert str(version) in (client.connection.close_reason or "")
    assert not client.connection.outgoing


@pytest.mark.parametrize("size", [0, -1, -(2**31), 2**31 - 1, (100 << 20) + 1])
def test_a_length_that_no_request_has_ends_the_connection_before_memory_is_taken(
    client: Client, size: int
) -> None:
    client.send_bytes(struct.pack(">i", size) + b"xx")
    assert client.connection.close_cause is Cause.PROTOCOL
    assert client.connection.reader.held_bytes <= 64 << 10


def test_a_body_that_lies_ends_the_connection_and_what_was_asked_before_is_answered(
    gateway: Gateway, client: Client
) -> None:
    client.send(MetadataRequest(topics=[]), 12)
    frame = bytearray(request_frame(MetadataRequest(topics=None), 1, 2))
    frame[-4:] = b"\x7f\xff\xff\xff"
    client.send_bytes(bytes(frame))
    client.send_bytes(request_frame(MetadataRequest(topics=[]), 12, 3))
    assert client.connection.close_cause is Cause.PROTOCOL
    assert len(client.answers()) == 1


def test_a_fault_of_our_own_ends_one_connection_and_no_other(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("a bug")

    gateway.break_things()
    monkeypatch.setattr(broker.handlers.find_coordinator, "_coordinator", fail)
    other = gateway.client()
    with caplog.at_level(logging.ERROR):
        client.send(FindCoordinatorRequest(key="g"), 1)
    assert (client.connection.close_reason, client.connection.close_cause) == ("internal error", Cause.BUG)
    assert "api=find_coordinator v1 correlation=1" in caplog.text
    assert other.call(MetadataRequest(topics=[]), 12).controller_id == 1


def test_connections_are_counted_and_forgotten(gateway: Gateway) -> None:
    clients = [gateway.client() for _ in range(3)]
    identities = [client.connection.identity for client in clients]
    assert sorted(gateway.broker.connections) == identities
    for client in clients:
        client.close()
    assert gateway.broker.connections == {}
    stats = gateway.broker.stats
    assert (stats.connections_opened, stats.connections_closed[Cause.CLIENT]) == (3, 3)


def test_a_client_that_leaves_in_the_middle_of_everything_leaves_nothing(gateway: Gateway) -> None:
    other = gateway.client()
    create(other, "t")
    client = gateway.client()
    client.send(producing(("t", 0, batch(b"a"))), 9)
    client.send(fetching({("t", 0): 5}, max_wait_ms=1_000), 12)
    client.send(fetching({("t", 0): 0}, max_wait_ms=60_000, min_bytes=10_000), 12)
    client.send_bytes(struct.pack(">i", 50_000) + bytes(30_000))
    client.close()
    gateway.settle()
    assert len(gateway.broker.waiters) == 0
    assert (gateway.broker.memory.requests_bytes, gateway.broker.memory.answers_bytes) == (0, 0)
    assert read(other, "t") == [b"a"]


def test_the_wall_clock_may_jump_and_the_other_one_does_not_notice(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    client.send(fetching({("t", 0): 0}, max_wait_ms=1_000), 12)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=0)
    assert gateway.broker.clock.wall_ms(gateway.now_ms + 5) == 5
    gateway.tick()
    assert client.answers() == []
    gateway.advance(1_000)
    assert len(client.answers()) == 1


def test_a_deadline_that_has_come_is_always_met_by_work(gateway: Gateway, client: Client) -> None:
    """Otherwise the event loop would spin: once all work is done, every deadline must be in the future."""
    create(client, "t", 3)
    for number in range(30):
        send(gateway.client(), "t", batch(bytes(3_000)), number % 3)
        gateway.now_ms += (1, 70, 400, 3_000)[number % 4]
        gateway.tick()
        gateway.settle()
        deadline = gateway.broker.next_deadline()
        assert deadline is None or deadline > gateway.now_ms


def test_topics_are_found_by_name_once_they_are_there(gateway: Gateway, client: Client) -> None:
    with pytest.raises(RequestError) as refused:
        gateway.broker.find_topic("t")
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic_id = create(client, "t")
    assert gateway.broker.find_topic("t").topic_id == topic_id


def test_disk_work_is_told_while_it_is_in_flight(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    client.send(producing(("t", 0, batch(b"a"))), 9)
    jobs = list(gateway.broker.take_jobs(gateway.now_ms))
    seen = [gateway.broker.has_disk_work]
    gateway.finish(jobs)
    gateway.settle()
    seen.append(gateway.broker.has_disk_work)
    assert seen == [True, False]


@pytest.mark.parametrize(("vnodes", "threads"), [(1, 4), (2, 6), (30, 16)])
def test_there_are_threads_for_every_vnode_within_reason(vnodes: int, threads: int) -> None:
    assert Gateway(kawal_vnodes=vnodes).broker.disk_threads == threads


def test_a_stop_answers_what_is_parked_and_what_is_in_flight(gateway: Gateway) -> None:
    producer, consumer = gateway.client(), gateway.client()
    create(producer, "t")
    consumer.send(fetching({("t", 0): 0}, max_wait_ms=60_000), 12)
    producer.send(producing(("t", 0, batch(b"a"))), 9)
    gateway.broker.begin_stop(gateway.now_ms)
    assert len(consumer.answers()) == 1
    gateway.settle()
    assert producer.answers()[0].responses[0].partition_responses[0].base_offset == 0
    gateway.broker.close(gateway.now_ms)


@pytest.mark.parametrize("path", ["vnode-0", "meta"])
def test_a_disk_that_does_not_let_a_log_close_costs_nothing(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    create(client, "t", 2)
    for index in (0, 1):
        send(client, "t", batch(b"a"), index)
    gateway.disk.faults.append(failing("write", errno.ENOSPC, path=f"{path}/checkpoint", times=5))
    with caplog.at_level(logging.ERROR):
        gateway.restart()
    assert "not closed cleanly" in caplog.text
    client = gateway.client()
    assert [read(client, "t", partition=index) for index in (0, 1)] == [[b"a"], [b"a"]]


def test_clocks_begin_where_the_shell_says(gateway: Gateway) -> None:
    assert gateway.broker.clock.wall_ms(START_MS) == START_MS
