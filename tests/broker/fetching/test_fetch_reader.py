"""One pass over the partitions of a fetch: what each gives within the room there is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from broker.errors import RequestError
from broker.fetching.fetch_items import FetchItem, find_partition
from broker.fetching.fetch_reader import READ_COMMITTED, FetchReader
from broker.loop.slices import at_once
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchRequest, PartitionData
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetching, producing, send
from wal.reader import PIECES_MAX


class FakeCall:
    """A call, as far as reading looks at it."""

    rights = None

    def __init__(self, request: FetchRequest) -> None:
        self.request = request


@pytest.fixture
def gateway() -> Gateway:
    """Return a broker with two partitions of 2,000 bytes each."""
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", partitions=2)
    for index in range(2):
        send(client, "t", batch(bytes(1_900)), partition=index)
    return gateway


def reader_of(gateway: Gateway, request: FetchRequest, room_bytes: int = 1 << 20) -> FetchReader:
    call: Any = FakeCall(request)
    steps = gateway.broker.fetch_sessions.plan(
        request, uses_topic_ids=False, owner=gateway.client().connection, now_ms=gateway.now_ms
    )
    plan = at_once(steps)
    return FetchReader(gateway.broker, call, plan, room_bytes=room_bytes, now_ms=gateway.now_ms)


def read(reader: FetchReader) -> list[PartitionData]:
    assert list(reader.read(tuple(reader.plan.items.values()))) == []
    return [data for _, data in reader.found]


BOTH: dict[tuple[str | UUID, int], int] = {("t", 0): 0, ("t", 1): 0}


def test_the_room_that_is_left_bounds_all_but_the_first_batch(gateway: Gateway) -> None:
    reader = reader_of(gateway, fetching(BOTH), room_bytes=100)
    first, second = read(reader)
    assert (bool(first.records), bool(second.records)) == (True, False)
    assert reader.size_bytes > 1_900
    assert reader.is_enough()


def test_what_has_grown_since_is_outdated(gateway: Gateway) -> None:
    reader = reader_of(gateway, fetching({("t", 0): 1}, max_wait_ms=100))
    read(reader)
    assert not reader.is_enough()
    assert not reader.is_outdated(reader.found)
    send(gateway.client(), "t", batch(b"x"))
    assert reader.is_outdated(reader.found)


def test_an_error_is_answered_at_once(gateway: Gateway) -> None:
    reader = reader_of(gateway, fetching({("t", 0): 99}, max_wait_ms=100))
    (data,) = read(reader)
    assert (data.error_code, reader.is_enough()) == (ErrorCode.OFFSET_OUT_OF_RANGE, True)


@pytest.mark.parametrize(("isolation", "aborted"), [(0, None), (READ_COMMITTED, [])])
def test_only_who_reads_committed_learns_of_aborted_transactions(
    gateway: Gateway, isolation: int, aborted: list[Any] | None
) -> None:
    (data,) = read(reader_of(gateway, fetching({("t", 0): 0}, isolation_level=isolation)))
    assert data.aborted_transactions == aborted


def test_a_partition_that_is_not_there_is_refused(gateway: Gateway) -> None:
    for name, index in (("t", 2), ("gone", 0)):
        reader = reader_of(gateway, fetching({(name, index): 0}))
        (item,) = reader.plan.items.values()
        assert isinstance(item, FetchItem)
        with pytest.raises(RequestError) as refused:
            find_partition(gateway.broker, item)
        assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("min_bytes", "partition_max_bytes", "batches", "is_enough"),
    [
        (5_000, 5_000, 3, True),  # two batches of 2,000 bytes do not fill the limit, and there is a third
        (5_000, 5_000, 2, False),  # there is no more to give
        (9_000, 5_000, 3, False),  # one partition cannot reach the minimum
        (1 << 30, 1 << 30, 3, False),
    ],
)
def test_a_partition_with_more_than_it_may_give_counts_as_full(
    min_bytes: int, partition_max_bytes: int, batches: int, is_enough: bool
) -> None:
    """A consumer whose minimum is near the limit would wait out its time for each fetch."""
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    for _ in range(batches):
        send(client, "t", batch(bytes(1_900)))
    asked = fetching(
        {("t", 0): 0}, max_wait_ms=500, min_bytes=min_bytes, partition_max_bytes=partition_max_bytes
    )
    reader = reader_of(gateway, asked, room_bytes=2 << 30)
    (data,) = read(reader)
    assert reader.size_bytes < min_bytes
    assert (bool(data.records), reader.is_enough()) == (True, is_enough)


def test_the_minimum_is_never_more_than_the_answer_may_have(gateway: Gateway) -> None:
    reader = reader_of(gateway, fetching(BOTH, max_wait_ms=500, min_bytes=1 << 30), room_bytes=3_000)
    assert reader.min_bytes == 3_000
    read(reader)
    assert reader.is_enough()


def test_a_fetch_gathers_a_bounded_number_of_small_batches_and_counts_as_full() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", 2)
    for _ in range(PIECES_MAX + 1):
        client.call(producing(("t", 0, batch(b"a")), ("t", 1, batch(b"b"))), 9)
    reader = reader_of(gateway, fetching({("t", 0): 0, ("t", 1): 0}, min_bytes=1 << 20, max_wait_ms=10_000))
    first, second = read(reader)
    assert (bool(first.records), bool(second.records)) == (True, False), "another fetch begins with it"
    assert reader.size_bytes == PIECES_MAX * len(batch(b"a"))
    assert reader.is_enough()
