"""Requests of one client that repeat each other and come together are one call; each has its own answer."""

from __future__ import annotations

import errno
import struct
from dataclasses import replace

import pytest

from broker.requests.repeated_produce import RepeatedProduces
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, outcomes, producing, read
from wal.memory_faults import failing


def produce(client: Client, value: bytes, *, version: int = 10, index: int = 0) -> int:
    """Produce a record, alone; return its offset."""
    (outcome,) = outcomes(client.call(producing(("t", index, batch(value))), version))
    assert outcome.error_code == 0
    return int(outcome.base_offset)


def several(client: Client, *values: bytes, version: int = 10, index: int = 0) -> None:
    """Send requests for one partition that come together."""
    asked = [producing(("t", index, batch(value))) for value in values]
    client.send_bytes(b"".join(client.frame(request, version) for request in asked))


def offsets(client: Client) -> list[tuple[int, int]]:
    """Return error and base offset of all answers, in their order."""
    found: list[tuple[int, int]] = []
    while client.connection.unanswered or client.connection.outgoing or client.unread:
        client.gateway.settle()
        answered = [outcomes(answer)[0] for answer in client.answers()]
        found += [(outcome.error_code, outcome.base_offset) for outcome in answered]
    return found


@pytest.mark.parametrize("version", [3, 7, 9, 12])
def test_requests_that_come_together_are_one_call_and_have_their_own_answers(
    gateway: Gateway, client: Client, version: int
) -> None:
    create(client, "t")
    produce(client, b"a", version=version)
    several(client, b"b", b"c" * 300, b"d", version=version)
    assert [(call.count, call.size_bytes > 500) for call in client.connection.calls] == [(3, True)]
    assert client.connection.unanswered == 3
    assert offsets(client) == [(0, 1), (0, 2), (0, 3)]
    assert client.connection.unanswered == client.connection.request_bytes == 0
    assert read(client, "t") == [b"a", b"b", b"c" * 300, b"d"]
    stats = gateway.broker.stats
    assert stats.requests[version].count == stats.apis[0].total_ns.count == 4
    assert client.connection.client.request_count >= 4


def test_requests_for_several_partitions_are_answered_in_their_order(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t", partitions=2)
    for index in (0, 1):
        assert produce(client, b"a", version=9, index=index) == 0
    asked = [producing(("t", index, batch(b"v"))) for index in (0, 0, 1, 0, 1)]
    client.send_bytes(b"".join(client.frame(request, 9) for request in asked))
    assert [call.count for call in client.connection.calls] == [2, 1, 1, 1]
    assert offsets(client) == [(0, 1), (0, 2), (0, 1), (0, 3), (0, 2)]


def test_each_of_several_requests_is_told_of_lost_records_and_counted(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t")
    produce(client, b"a")
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode"))
    several(client, b"b", b"c", b"d")
    assert offsets(client) == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)] * 3
    assert gateway.broker.stats.requests[10].errors == {ErrorCode.KAFKA_STORAGE_ERROR: 3}
    gateway.advance(2_000)
    assert produce(client, b"e") == 1


def test_of_a_run_that_fills_a_frame_what_reached_the_disk_is_not_told_as_lost(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t")
    produce(client, b"a")
    log = gateway.partition("t").vnode.log
    log.change_options(replace(log.options, frame_entries_max=2))
    several(client, b"b", b"c", b"d")
    assert [call.count for call in client.connection.calls] == [3]
    gateway.run_jobs()
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode"))
    assert offsets(client) == [(0, 1), (0, 2), (ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    assert gateway.broker.stats.requests[10].errors == {ErrorCode.KAFKA_STORAGE_ERROR: 1}
    gateway.advance(2_000)
    assert produce(client, b"e") == 3


def test_a_client_may_have_no_more_requests_in_flight_than_one_by_one() -> None:
    gateway = Gateway(kawal_connection_in_flight_requests=5)
    client = gateway.client()
    create(client, "t")
    produce(client, b"a")
    several(client, *[b"v"] * 8)
    assert (client.connection.unanswered, client.connection.stalled) == (5, True)
    assert offsets(client) == [(0, offset) for offset in range(1, 9)]


def test_several_requests_weigh_no_less_than_one_by_one() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=20_000)
    client = gateway.client()
    create(client, "t")
    produce(client, b"a")
    several(client, *[b"v"] * 8)
    together = client.connection.unanswered, client.connection.request_bytes
    assert len(offsets(client)) == 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RepeatedProduces, "serve", lambda _repeats, _connection, data, *_: data)
        several(client, *[b"v"] * 8)
        assert together == (client.connection.unanswered, client.connection.request_bytes)


def test_a_run_ends_with_the_share_of_its_connection(gateway: Gateway, client: Client) -> None:
    """A look at the clock takes 0.4 ms here: the third request is after the first millisecond."""
    create(client, "t")
    produce(client, b"a")
    looks = iter(range(0, 10**12, 400_000))
    gateway.broker.stats.clock_ns = lambda: next(looks)
    several(client, *[b"v"] * 8)
    assert client.connection.resting
    assert 1 <= client.connection.unanswered < 8
    assert len(offsets(client)) == 8


def test_requests_that_are_logged_are_served_one_by_one() -> None:
    gateway = Gateway(kawal_request_log=("test",))
    client = gateway.client()
    create(client, "t")
    produce(client, b"a")
    several(client, b"b", b"c")
    assert [(call.count, call.logged) for call in client.connection.calls] == [(1, True)] * 2


def test_a_request_that_is_too_large_ends_a_connection_after_the_records_before_it(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t")
    produce(client, b"a")
    asked = [producing(("t", 0, batch(value))) for value in (b"b", b"c")]
    frames = b"".join(client.frame(request, 10) for request in asked)
    client.send_bytes(frames + struct.pack(">i", 1 << 30))
    assert client.connection.close_reason is not None
    assert offsets(client) == [(0, 1), (0, 2)]


def test_a_repetition_at_the_end_of_a_run_does_not_answer_the_new_batch_before_its_sync(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t")
    asked = [producing(("t", 0, batch(b"v", producer=(7, 0, number)))) for number in (0, 1, 2, 1)]
    for request in asked[:2]:
        assert outcomes(client.call(request, 10))[0].error_code == 0
    client.send_bytes(b"".join(client.frame(request, 10) for request in asked[2:]))
    assert [call.count for call in client.connection.calls] == [2]
    assert client.answers() == [], "the first of them is not on the disk"
    assert gateway.partition("t").high_watermark == 2
    assert offsets(client) == [(0, 2), (0, 1)]


def test_batches_of_an_idempotent_producer_are_one_run_up_to_one_out_of_order(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t")
    asked = [producing(("t", 0, batch(b"v", producer=(7, 0, number)))) for number in (0, 1, 2, 1, 9, 3)]
    assert outcomes(client.call(asked[0], 10))[0].base_offset == 0
    client.send_bytes(b"".join(client.frame(request, 10) for request in asked[1:]))
    gateway.settle()
    out_of_order = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert offsets(client) == [(0, 1), (0, 2), (0, 1), out_of_order, (0, 3)]
