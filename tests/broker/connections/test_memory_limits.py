"""Requests and answers take no more memory than allowed: reading stops, nothing is lost, reading resumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from broker.config.config import Config
from broker.connections.connection import Connection
from broker.connections.memory_limits import (
    FETCH_ROOM_BYTES_MIN,
    PROVEN_REQUESTS,
    UNLIMITED,
    MemoryLimits,
)
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Client, Gateway, request_frame
from tests.broker.kit import batch, create, fetching, producing

KIB = 1 << 10


def settle(client: Client) -> list[Any]:
    """Return all answers that are there after the disk has worked."""
    client.gateway.settle()
    return client.answers()


def test_a_connection_with_many_unanswered_requests_is_not_read() -> None:
    gateway = Gateway(kawal_connection_in_flight_requests=4)
    client = gateway.client()
    create(client, "t")
    for _ in range(10):
        client.send(producing(("t", 0, batch(b"v"))), 9)
    assert client.connection.saturated
    assert len(client.connection.calls) == 4
    answers = settle(client)
    while len(answers) < 10:
        answers += settle(client)
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in answers]
    assert offsets == list(range(10))
    assert not client.connection.saturated


def test_a_connection_with_much_in_work_is_not_read() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=21 * KIB)
    client = gateway.client()
    create(client, "t")
    for _ in range(8):
        client.send(producing(("t", 0, batch(b"v" * 4 * KIB))), 9)
    assert client.connection.saturated
    assert len(client.connection.calls) == 3
    answers = settle(client)
    while len(answers) < 8:
        answers += settle(client)
    assert gateway.broker.memory.requests_bytes == 0


def test_a_connection_that_leaves_its_answers_lying_is_not_read() -> None:
    gateway = Gateway(kawal_connection_unsent_bytes=2 * KIB)
    client = gateway.client()
    for _ in range(100):
        client.send(ApiVersionsRequest(), 2)
    assert client.connection.saturated
    assert client.connection.outgoing_bytes < 4 * KIB
    assert len(client.answers()) == 100


def test_when_requests_of_all_weigh_too_much_nobody_is_read_and_nothing_is_lost() -> None:
    gateway = Gateway(queued_max_request_bytes=30 * KIB)
    clients = [gateway.client(f"10.0.0.{number}") for number in range(4)]
    create(clients[0], "t")
    for client in clients:
        for _ in range(3):
            client.send(producing(("t", 0, batch(b"v" * 6 * KIB))), 9)
    assert gateway.broker.memory.requests_full
    assert all(client.connection.saturated for client in clients)
    assert gateway.broker.memory.requests_bytes < 50 * KIB
    answers = []
    for _ in range(12):
        for client in clients:
            answers += settle(client)
    assert len(answers) == 12
    assert gateway.broker.memory.requests_bytes == 0


def test_a_frame_that_is_still_coming_in_weighs_the_memory_that_waits_for_it() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    frame = request_frame(producing(("t", 0, batch(b"v" * 300 * KIB))), 9, 77)
    client.send_bytes(frame[: 20 * KIB])
    assert gateway.broker.memory.requests_bytes == 20 * KIB
    client.send_bytes(frame[20 * KIB : 200 * KIB])
    assert gateway.broker.memory.requests_bytes == len(frame) - 4
    assert gateway.broker.memory.floor is client.connection
    client.close()
    assert gateway.broker.memory.requests_bytes == 0
    assert gateway.broker.memory.floor is None


def test_with_memory_full_of_large_requests_small_ones_go_on_as_far_as_the_reserve_goes() -> None:
    gateway = Gateway(queued_max_request_bytes=400 * KIB)
    clients = [gateway.client() for _ in range(3)]
    create(clients[0], "t")
    frame = request_frame(producing(("t", 0, batch(b"v" * 430 * KIB))), 9, 77)
    clients[1].send_bytes(frame[: 100 * KIB])
    memory = gateway.broker.memory
    assert memory.requests_full
    assert not clients[0].connection.saturated
    clients[2].send_bytes(frame[: 10 * KIB])
    assert clients[2].connection.saturated
    assert not clients[0].connection.saturated
    memory.requests_bytes = 500 * KIB
    assert clients[0].connection.saturated


def test_with_memory_full_of_unfinished_requests_the_oldest_one_has_the_floor() -> None:
    gateway = Gateway(queued_max_request_bytes=300 * KIB, kawal_memory_share_per_ip=1.0)
    clients = [gateway.client() for _ in range(3)]
    create(clients[0], "t")
    for client in clients:
        client.send(producing(("t", 0, batch(b"v" * 100 * KIB))), 9)
    settle(clients[0])
    frames = [request_frame(producing(("t", 0, batch(b"v" * 200 * KIB))), 9, 77) for _ in clients]
    for client, frame in zip(clients, frames, strict=True):
        client.send_bytes(frame[: 120 * KIB])
    assert gateway.broker.memory.requests_full
    assert [client.connection.saturated for client in clients] == [False, True, True]
    for client, frame in zip(clients, frames, strict=True):
        client.send_bytes(frame[120 * KIB :])
    assert not clients[0].unread


def test_memory_full_of_answers_holds_back_those_who_leave_theirs_lying() -> None:
    gateway = Gateway(kawal_queued_max_response_bytes=4 * KIB, kawal_connection_unsent_bytes=1 << 20)
    gateway.broker.memory.host_answers_bytes_max = gateway.broker.memory.answers_bytes_max
    deaf, good = gateway.client(), gateway.client()
    for _ in range(100):
        deaf.send(ApiVersionsRequest(), 2)
    assert gateway.broker.memory.answers_full
    assert deaf.connection.saturated
    good.send(MetadataRequest(topics=[]), 9)
    assert len(good.answers()) == 1
    assert len(deaf.answers()) == 100
    assert gateway.broker.memory.answers_bytes == 0


def test_far_above_the_limit_for_answers_nobody_is_read() -> None:
    gateway = Gateway(kawal_queued_max_response_bytes=KIB)
    deaf = [gateway.client() for _ in range(20)]
    good = gateway.client()
    for client in deaf:
        client.send(ApiVersionsRequest(), 2)
    assert gateway.broker.memory.answers_bytes >= 2 * KIB
    assert good.connection.saturated
    for client in deaf:
        client.close()
    assert not good.connection.saturated


def test_what_is_sent_from_files_takes_no_memory() -> None:
    gateway = Gateway(kawal_tail_cache_bytes=0)
    client = gateway.client()
    create(client, "t")
    client.call(producing(("t", 0, batch(b"v" * 500 * KIB))), 9)
    client.send(fetching({("t", 0): 0}), 11)
    assert client.connection.outgoing_bytes > 500 * KIB
    assert gateway.broker.memory.answers_bytes < KIB
    assert client.answers()


def test_a_client_that_leaves_gives_everything_back() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    client.send(producing(("t", 0, batch(b"v" * KIB))), 9)
    client.send(ApiVersionsRequest(), 2)
    client.close()
    gateway.settle()
    memory = gateway.broker.memory
    assert (memory.requests_bytes, memory.answers_bytes, memory.unfinished) == (0, 0, {})


def test_minus_one_is_no_limit() -> None:
    config = replace(Config(), queued_max_request_bytes=-1, kawal_queued_max_response_bytes=-1)
    memory: MemoryLimits[Connection] = MemoryLimits(config)
    assert memory.requests_bytes_max == memory.answers_bytes_max == UNLIMITED
    assert not memory.full


def test_the_less_memory_there_is_the_less_a_fetch_returns() -> None:
    config = replace(Config(), kawal_queued_max_response_bytes=1 << 20)
    memory: MemoryLimits[Connection] = MemoryLimits(config)
    use = memory.enter("10.0.0.9")
    assert memory.fetch_room_bytes(use) == 1 << 19, "the share of an address"
    memory.answers_bytes = (1 << 20) - (300 << 10)
    assert memory.fetch_room_bytes(use) == 300 << 10
    memory.answers_bytes = (1 << 20) - 100
    assert memory.fetch_room_bytes(use) == FETCH_ROOM_BYTES_MIN


def test_who_sends_without_waiting_is_read_no_faster_than_the_disk_writes() -> None:
    gateway = Gateway(kawal_connection_in_flight_requests=4)
    client = gateway.client()
    create(client, "t")
    for _ in range(10):
        client.send_unanswered(producing(("t", 0, batch(b"v")), acks=0), 9)
    assert client.connection.saturated
    written: list[int] = []
    while not written or written[-1] < 10:
        gateway.settle()
        client.answers()
        gateway.settle()
        written.append(gateway.broker.topics.partition(gateway.broker.find_topic("t"), 0).high_watermark)
    assert written[0] < 10


def heavy_fetch(partitions: int = 3_000) -> FetchRequest:
    """Return a fetch that names one partition very often: small on the wire, large once it is decoded."""
    return fetching_many("t", [0] * partitions, max_wait_ms=60_000)


def heavy(gateway: Gateway) -> Connection | None:
    """Return the connection with the heavy request in work."""
    return gateway.broker.memory.heavy


def fetching_many(topic: str, indexes: list[int], *, max_wait_ms: int = 0) -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1_000) for index in indexes
    ]
    topics = [FetchTopic(topic=topic, partitions=partitions)]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=topics)


def test_parked_fetches_count_what_they_hold_not_what_their_requests_held() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    client.send(heavy_fetch(), 11)
    gateway.settle()
    assert len(gateway.broker.waiters) == 1
    (call,) = client.connection.calls
    assert call.request.topics == []
    assert client.connection.request_bytes == call.weight_bytes < 5 * KIB


def test_parked_fetches_of_many_partitions_count_each_of_them() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", partitions=2_000)
    client.send(fetching_many("t", list(range(2_000)), max_wait_ms=60_000), 11)
    gateway.settle()
    assert len(gateway.broker.waiters) == 1
    assert gateway.broker.memory.requests_bytes == client.connection.request_bytes > 1_400 * KIB


def test_many_heavy_fetches_stay_below_the_limit_for_all() -> None:
    gateway = Gateway(queued_max_request_bytes=1 << 20, kawal_memory_share_per_ip=1.0)
    clients = [gateway.client() for _ in range(40)]
    create(clients[0], "t", partitions=200)
    gateway.broker.take_unsent()
    highest = 0
    for client in clients:
        client.send(fetching_many("t", list(range(200)), max_wait_ms=60_000), 11)
        gateway.settle()
        highest = max(highest, gateway.broker.memory.requests_bytes)
    waiting = len(gateway.broker.waiters)
    assert 5 < waiting < 20
    assert sum(len(client.answers()) for client in clients) == 40 - waiting, "the others wait for nothing"
    assert highest < 1_500 * KIB, "the limit and one request"
    assert not any(client.connection.saturated for client in clients)


def test_one_address_may_take_its_share_and_the_others_are_read_on() -> None:
    gateway = Gateway(queued_max_request_bytes=400 * KIB, kawal_memory_share_per_ip=0.5)
    greedy = [gateway.client("10.0.0.9") for _ in range(3)]
    other = gateway.client("10.0.0.1")
    create(other, "t")
    frame = request_frame(producing(("t", 0, batch(b"v" * 430 * KIB))), 9, 77)
    greedy[0].send_bytes(frame[: 250 * KIB])
    memory = gateway.broker.memory
    memory.requests_bytes_max = 10_000 * KIB
    greedy[1].send_bytes(frame[: 10 * KIB])
    assert not memory.full
    assert memory.host_full(greedy[0].connection.use)
    assert [client.connection.saturated for client in greedy] == [False, True, True]
    assert memory.full_hosts() == {greedy[0].connection.use}
    other.send_bytes(frame[: 100 * KIB])
    assert not other.connection.saturated


def test_a_connection_that_leaves_gives_its_address_everything_back() -> None:
    gateway = Gateway()
    client, stays = gateway.client(), gateway.client()
    use = client.connection.use
    assert use is stays.connection.use
    client.send_bytes(b"\0\0\1\0half a request")
    assert use.requests_bytes > 0
    client.close()
    assert (use.requests_bytes, use.answers_bytes, use.connection_count, use.floor) == (0, 0, 1, None)
    stays.close()
    assert gateway.broker.memory.hosts == {}


def test_of_heavy_requests_one_is_in_work_and_its_excess_holds_nobody_back() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=200 * KIB, queued_max_request_bytes=1 << 20)
    first, second, small = (gateway.client(f"10.0.0.{number}") for number in range(3))
    create(small, "t")
    request = fetching_many("unknown", list(range(12_000)))
    first.send(request, 11)
    memory = gateway.broker.memory
    assert heavy(gateway) is first.connection
    assert memory.requests_bytes > 2 << 20
    assert not memory.requests_full
    second.send(request, 11)
    assert list(memory.heavy_waiting) == [second.connection]
    assert not second.connection.calls
    small.send(MetadataRequest(topics=[]), 9)
    assert len(small.answers()) == 1
    gateway.settle()
    assert len(first.answers()) == 1
    assert heavy(gateway) is None
    assert not memory.heavy_waiting
    assert second.connection in gateway.broker.take_unsent()
    second.answers()
    assert len(settle(second)) == 1
    assert memory.requests_bytes == 0


def test_a_heavy_request_that_is_parked_lets_the_next_one_begin() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=200 * KIB)
    client = gateway.client()
    create(client, "t", partitions=2_000)
    client.send(fetching_many("t", list(range(2_000)), max_wait_ms=60_000), 11)
    assert heavy(gateway) is client.connection
    gateway.settle()
    assert len(gateway.broker.waiters) == 1
    assert heavy(gateway) is None


def test_a_client_that_leaves_ends_its_heavy_request() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=200 * KIB)
    client, waiting = gateway.client(), gateway.client()
    client.send(fetching_many("unknown", list(range(12_000))), 11)
    waiting.send(fetching_many("unknown", list(range(12_000))), 11)
    client.close()
    assert heavy(gateway) is None
    waiting.close()
    assert not gateway.broker.memory.heavy_waiting


def proven(client: Client) -> Client:
    """Have a client send as many small requests as make it known for them."""
    for _ in range(PROVEN_REQUESTS):
        client.send(ApiVersionsRequest(), 2)
    client.answers()
    return client


def test_connections_known_for_small_requests_have_a_reserve_that_large_ones_do_not_fill() -> None:
    gateway = Gateway(queued_max_request_bytes=400 * KIB, kawal_memory_share_per_ip=0.5)
    good, unknown, greedy = proven(gateway.client()), gateway.client(), gateway.client()
    memory = gateway.broker.memory
    greedy.send_bytes(request_frame(producing(("t", 0, batch(b"v" * 430 * KIB))), 9, 77)[: 210 * KIB])
    assert memory.host_requests_full(good.connection.use)
    use = good.connection.use
    memory.requests_bytes = use.requests_bytes = 255 * KIB
    assert unknown.connection.saturated
    assert not good.connection.saturated
    memory.requests_bytes = use.requests_bytes = 305 * KIB
    assert good.connection.saturated, "the second reserve has an end, too"


def test_one_large_request_ends_the_second_reserve_of_its_connection() -> None:
    gateway = Gateway()
    received, decoded = proven(gateway.client()), proven(gateway.client())
    create(received, "t", partitions=300)
    both = [received.connection, decoded.connection]
    assert [connection.proven for connection in both] == [True, True]
    received.send(producing(("t", 0, batch(b"v" * 70 * KIB))), 9)
    decoded.send(fetching_many("t", list(range(300))), 11)
    gateway.settle()
    assert [connection.proven for connection in both] == [False, False]
