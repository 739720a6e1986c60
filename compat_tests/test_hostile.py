"""Peers that ask for much and give little: other clients go on, and memory stays bounded."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from compat_tests.batches import Batch
from compat_tests.broker import HOST, Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.requests import fetch, fetch_request, fetched_batches, produce
from compat_tests.times import quickest, seconds_of
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.messages.metadata import MetadataRequest

MIB = 1_048_576


def resident_bytes(broker: Broker) -> int:
    """Return the memory that the broker's process holds now."""
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


@pytest.fixture
def crowd() -> Iterator[ExitStack]:
    """Yield a stack of things to be closed at the end of a test."""
    with ExitStack() as stack:
        yield stack


def connect(broker: Broker, crowd: ExitStack) -> RawClient:
    return crowd.enter_context(raw_client(broker))


def is_quick(broker: Broker, topic: str) -> bool:
    """Return whether a record goes in and comes out within two seconds, at one of three attempts."""

    def serves() -> None:
        with raw_client(broker) as raw:
            part = produce(raw, topic, Batch())
            assert part.error_code == 0
            assert fetch(raw, topic, part.base_offset, max_wait_ms=1_000).records

    return quickest(partial(seconds_of, serves), below_seconds=2, attempts=3) < 2


def test_hundreds_of_connections_are_served_together(
    broker: Broker, make_topic: MakeTopic, crowd: ExitStack
) -> None:
    topic = make_topic()
    clients = [connect(broker, crowd) for _ in range(300)]
    for client in clients:
        client.send(MetadataRequest(topics=[]), 9)
    for client in clients:
        assert client.receive().brokers
    assert is_quick(broker, topic)


def test_frames_that_never_end_hold_up_nobody(
    broker: Broker, make_topic: MakeTopic, crowd: ExitStack
) -> None:
    topic = make_topic()
    for size in (100, MIB):
        for _ in range(10):
            client = connect(broker, crowd)
            client.socket.sendall(struct.pack(">i", size) + b"\x00\x03\x00\x09")
    assert is_quick(broker, topic)


@pytest.mark.only_kawal(
    reason="Kafka allocates a frame when it is announced: ten of 100 MiB end a heap of 512 MiB"
)
def test_announced_frames_cost_memory_only_when_their_bytes_come(start_broker: StartBroker) -> None:
    broker = start_broker()
    create_topic(broker, "t")
    before = resident_bytes(broker)
    with ExitStack() as crowd:
        for _ in range(50):
            client = connect(broker, crowd)
            client.socket.sendall(struct.pack(">i", 100 * MIB) + b"\x00\x00\x00\x09" + b"\x00" * 1_000)
        assert is_quick(broker, "t")
        assert resident_bytes(broker) - before < 100 * MIB


def test_a_reader_that_never_reads_holds_up_nobody(
    broker: Broker, raw: RawClient, make_topic: MakeTopic, crowd: ExitStack
) -> None:
    topic = make_topic(max_message_bytes="2000000")
    for _ in range(10):
        produce(raw, topic, Batch(values=[b"x" * MIB]))
    for _ in range(5):
        deaf = connect(broker, crowd)
        deaf.socket.setblocking(False)
        request = fetch_request(topic, 0, partition_max_bytes=20 * MIB, max_bytes=20 * MIB)
        for _ in range(100):
            try:
                deaf.send(request, 11)
            except BlockingIOError:
                break
    assert is_quick(broker, topic)


@pytest.mark.only_kawal(reason="Kafka's memory is a heap of fixed size")
def test_answers_nobody_reads_cost_bounded_memory(start_broker: StartBroker) -> None:
    broker = start_broker()
    create_topic(broker, "t", 1, {"max.message.bytes": "2000000"})
    with raw_client(broker) as raw:
        for _ in range(10):
            produce(raw, "t", Batch(values=[b"x" * MIB]))
        before = resident_bytes(broker)
        with ExitStack() as crowd:
            for _ in range(10):
                deaf = connect(broker, crowd)
                for _ in range(100):
                    deaf.send(fetch_request("t", 0, partition_max_bytes=20 * MIB, max_bytes=20 * MIB), 11)
            assert len(fetched_batches(raw, "t", partition_max_bytes=20 * MIB)) == 10
            assert resident_bytes(broker) - before < 150 * MIB


def test_connections_reset_in_the_middle_of_an_answer_harm_nobody(
    broker: Broker, raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic(max_message_bytes="2000000")
    for _ in range(5):
        produce(raw, topic, Batch(values=[b"x" * MIB]))
    for _ in range(30):
        with raw_client(broker) as rude:
            rude.send(fetch_request(topic, 0, partition_max_bytes=20 * MIB), 11)
            rude.socket.recv(1_000)
            rude.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert is_quick(broker, topic)


def test_a_producer_that_vanishes_in_the_middle_of_a_batch_stores_nothing(
    broker: Broker, raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    whole = Batch(values=[b"x" * 500_000]).encode()
    for part in (30, 60, 61, 100_000, len(whole)):
        with socket.create_connection((HOST, broker.port), timeout=60) as half:
            half.sendall(
                struct.pack(">i", len(whole) + 200) + b"\x00\x00\x00\x09\x00\x00\x00\x01" + whole[:part]
            )
    assert produce(raw, topic, Batch()).base_offset == 0


def test_waiting_readers_that_leave_are_forgotten(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for _ in range(200):
        with raw_client(broker) as waiting:
            waiting.send(fetch_request(topic, 0, max_wait_ms=60_000), 11)
    assert is_quick(broker, topic)
