"""The limits on connections, as clients and operators meet them; each is short here and long by default."""

from __future__ import annotations

import resource
import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.batches import Batch
from compat_tests.broker import API_VERSIONS_REQUEST, HOST, Broker, answers_api_versions
from compat_tests.conftest import StartBroker
from compat_tests.requests import fetch_request, produce, produce_request
from compat_tests.times import quickest
from compat_tests.topics import create_topic
from compat_tests.waiting import PATIENCE_SECONDS, eventually
from compat_tests.wire import RawClient, raw_client

pytestmark = pytest.mark.only_kawal(reason="the limits are the gateway's own; Kafka's tests look at Kafka's")

MIB = 1 << 20


@pytest.fixture
def crowd() -> Iterator[ExitStack]:
    """Yield a stack of things to be closed at the end of a test."""
    with ExitStack() as stack:
        yield stack


def connect(broker: Broker, crowd: ExitStack) -> socket.socket:
    return crowd.enter_context(socket.create_connection((HOST, broker.port), timeout=PATIENCE_SECONDS))


def connect_raw(broker: Broker, crowd: ExitStack) -> RawClient:
    return crowd.enter_context(raw_client(broker))


def is_closed(client: socket.socket, *, within_seconds: float = 30) -> bool:
    """Return whether the broker ends the connection in time; by default it would take a minute or more."""
    client.settimeout(within_seconds)
    try:
        while client.recv(1 << 20):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def is_served(client: socket.socket) -> bool:
    """Return whether the connection is open and answers."""
    client.settimeout(PATIENCE_SECONDS)
    try:
        client.sendall(API_VERSIONS_REQUEST)
        return client.recv(4) != b""
    except ConnectionError:
        return False


def cpu_seconds(broker: Broker) -> float:
    """Return the CPU time that the process has used."""
    fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_an_idle_connection_is_closed_and_a_waiting_reader_is_not(
    start_broker: StartBroker, crowd: ExitStack
) -> None:
    broker = start_broker(connections_max_idle_ms="2000")
    create_topic(broker, "t")
    waiting = connect_raw(broker, crowd)
    waiting.send(fetch_request("t", 0, max_wait_ms=5_000), 11)

    def closed() -> float:
        began = time.monotonic()
        assert is_closed(connect(broker, crowd))
        return time.monotonic() - began

    assert quickest(closed, below_seconds=3) > 1.9
    assert waiting.receive().error_code == 0


def test_a_request_left_half_sent_ends_its_connection(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(kawal_request_read_timeout_ms="500")
    for part in (b"\0", API_VERSIONS_REQUEST[:-1], struct.pack(">i", 50 * MIB) + b"\0" * 1000):
        half = connect(broker, crowd)
        half.sendall(part)
        assert is_closed(half)


def test_a_byte_now_and_then_does_not_keep_a_connection(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(kawal_request_read_timeout_ms="400")
    slow = connect(broker, crowd)

    def ended() -> bool:
        try:
            slow.send(b"\0" if started else struct.pack(">i", MIB))
        except ConnectionError:
            return True
        started.append(True)
        return bool(select.select([slow], [], [], 0)[0])

    started: list[bool] = []
    eventually(ended, waiting_for="the end of the connection", within_seconds=30)


def test_a_reader_that_takes_nothing_is_closed(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(kawal_response_write_timeout_ms="500")
    create_topic(broker, "t", 1, {"max.message.bytes": str(12 * MIB)})
    deaf = connect_raw(broker, crowd)
    for _ in range(2):
        assert produce(deaf, "t", Batch(values=[b"x" * 10 * MIB])).error_code == 0
    fewest = time.monotonic() + 0.4
    deaf.send(fetch_request("t", 0, partition_max_bytes=40 * MIB, max_bytes=40 * MIB), 11)

    def is_gone() -> bool:
        poll = select.poll()
        poll.register(deaf.socket, select.POLLHUP)
        return bool(poll.poll(0)) or b"closed" in _connection_state(deaf.socket)

    eventually(is_gone, waiting_for="the end of the connection", within_seconds=30)
    assert time.monotonic() > fewest


def _connection_state(client: socket.socket) -> bytes:
    """Return `closed` once the peer has closed or reset the connection, as Linux's TCP_INFO says."""
    state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return b"" if state == 1 else b"closed"


def test_a_slow_reader_that_takes_something_gets_it_all(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(kawal_response_write_timeout_ms="2500")
    create_topic(broker, "t", 1, {"max.message.bytes": str(22 * MIB)})
    slow = connect_raw(broker, crowd)
    assert produce(slow, "t", Batch(values=[b"x" * 20 * MIB])).error_code == 0
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    slow.send(fetch_request("t", 0, partition_max_bytes=40 * MIB, max_bytes=40 * MIB), 11)
    (size,) = struct.unpack(">i", slow.socket.recv(4))
    began, taken = time.monotonic(), 0
    while taken < size:
        part = slow.socket.recv(min(size - taken, MIB // 8))
        assert part
        taken += len(part)
        if time.monotonic() - began < 5:
            time.sleep(0.05)
    assert time.monotonic() - began > 5


def test_requests_beyond_the_limit_of_a_connection_wait_and_are_all_answered(
    start_broker: StartBroker, crowd: ExitStack
) -> None:
    broker = start_broker(kawal_connection_in_flight_requests="2", kawal_connection_in_flight_bytes="50000")
    create_topic(broker, "t")
    raw = connect_raw(broker, crowd)
    for _ in range(40):
        raw.send(produce_request("t", Batch(values=[b"x" * 30_000])), 9)
    offsets = [raw.receive().responses[0].partition_responses[0].base_offset for _ in range(40)]
    assert offsets == list(range(40))


def test_requests_beyond_the_limit_for_all_wait_and_are_all_answered(
    start_broker: StartBroker, crowd: ExitStack
) -> None:
    broker = start_broker(queued_max_request_bytes="200000")
    create_topic(broker, "t", 4)
    clients = [connect_raw(broker, crowd) for _ in range(8)]
    for _ in range(5):
        for partition, client in enumerate(clients):
            client.send(produce_request("t", Batch(values=[b"x" * 90_000]), partition=partition % 4), 9)
    codes = [
        client.receive().responses[0].partition_responses[0].error_code
        for client in clients
        for _ in range(5)
    ]
    assert codes == [0] * 40


def test_half_sent_requests_that_fill_the_memory_do_not_stop_the_others(
    start_broker: StartBroker, crowd: ExitStack
) -> None:
    broker = start_broker(queued_max_request_bytes="1000000", kawal_request_read_timeout_ms="600000")
    create_topic(broker, "t")
    for _ in range(5):
        half = connect(broker, crowd)
        half.setblocking(False)
        half.send(struct.pack(">i", MIB) + b"\0" * 300_000)
    good = connect_raw(broker, crowd)
    assert produce(good, "t", Batch()).error_code == 0


def test_connections_beyond_the_limit_are_closed_at_once_and_told_once_a_second(
    start_broker: StartBroker, crowd: ExitStack
) -> None:
    broker = start_broker(max_connections="3")
    served = [connect(broker, crowd) for _ in range(3)]
    assert all(map(is_served, served))
    began = time.monotonic()
    refused = 0
    while time.monotonic() - began < 0.5 or refused < 20:
        assert is_closed(connect(broker, crowd))
        refused += 1
    told = broker.process.output().count("refused")
    assert told <= 2 + int(time.monotonic() - began)
    assert "max.connections=3" in broker.process.output()
    served[0].close()
    eventually(lambda: answers_api_versions(broker.port), waiting_for="room for a connection")


def test_connections_from_one_address_are_limited(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(max_connections_per_ip="2")
    assert all(is_served(connect(broker, crowd)) for _ in range(2))
    assert is_closed(connect(broker, crowd))
    other = socket.create_connection((HOST, broker.port), timeout=60, source_address=("127.0.0.2", 0))
    assert is_served(crowd.enter_context(other))


def test_a_server_without_file_descriptors_rests_and_recovers(
    start_broker: StartBroker, crowd: ExitStack
) -> None:
    broker = start_broker()
    first = connect(broker, crowd)
    assert is_served(first)
    resource.prlimit(broker.process.pid, resource.RLIMIT_NOFILE, (20, 20_000))
    more = [connect(broker, crowd) for _ in range(20)]
    eventually(lambda: "cannot accept" in broker.process.output(), waiting_for="the warning")
    used = cpu_seconds(broker)
    time.sleep(1)
    assert cpu_seconds(broker) - used < 0.2
    assert is_served(first)
    resource.prlimit(broker.process.pid, resource.RLIMIT_NOFILE, (20_000, 20_000))
    assert is_served(more[-1])


def test_a_stop_waits_for_a_reader_no_longer_than_it_may(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(kawal_shutdown_timeout_ms="300")
    create_topic(broker, "t", 1, {"max.message.bytes": str(12 * MIB)})
    deaf = connect_raw(broker, crowd)
    assert produce(deaf, "t", Batch(values=[b"x" * 10 * MIB])).error_code == 0
    deaf.close()

    def stops() -> float:
        if broker.process.exit_code is not None:
            broker.restart()
        deaf = connect_raw(broker, crowd)
        deaf.send(fetch_request("t", 0, partition_max_bytes=40 * MIB, max_bytes=40 * MIB), 11)
        assert deaf.socket.recv(1, socket.MSG_PEEK), "the answer has begun"
        code, seconds = broker.stop()
        assert code == 0
        return seconds

    assert quickest(stops, below_seconds=2) > 0.25


def test_many_connections_can_wait_to_be_accepted(start_broker: StartBroker, crowd: ExitStack) -> None:
    broker = start_broker(socket_listen_backlog_size="300")
    clients = []
    for _ in range(250):
        client = crowd.enter_context(socket.socket())
        client.setblocking(False)
        client.connect_ex((HOST, broker.port))
        clients.append(client)
    for client in clients:
        assert select.select([], [client], [], PATIENCE_SECONDS)[1]
        assert is_served(client)
