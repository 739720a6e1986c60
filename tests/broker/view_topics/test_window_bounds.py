"""The bounds of a window, which may take long to find, are looked for while other clients are served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.loop.slices import run_here
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, fetched, fetching, producing, records_of, send
from tests.broker.topic_changes import delete
from tests.broker.view_topics.test_view_window import alias, shown, written
from tests.broker.wide_requests import EventLoop, Lines, Threads, let_work

MANY = 4_000

LINES_MAX = 15_000
"""The lines of a piece of work, about 1.5 ms; to walk a batch of MANY records takes 60,000."""


def long_batches(client: Client) -> None:
    """Make a topic t with 3 batches of MANY records, whose times ascend by 1 ms."""
    create(client, "t")
    for first in range(0, 3 * MANY, MANY):
        records = [
            Record(number, START_MS - 3 * MANY + first + number, None, b"%d" % (first + number))
            for number in range(MANY)
        ]
        send(client, "t", encode_batch(records, codec=Codec.LZ4))


def asking(name: str) -> ListOffsetsRequest:
    """Return a request for the end of a view."""
    topic = ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    return ListOffsetsRequest(replica_id=-1, topics=[topic])


@pytest.mark.parametrize(
    ("request_of", "version"), [(lambda name: fetching({(name, 0): 0}), 12), (asking, 7)]
)
def test_the_bounds_of_a_window_are_looked_for_in_threads_and_slices(
    request_of: Callable[[str], Any], version: int
) -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    long_batches(client)
    lines = Lines()
    # The first for what is imported.
    for name, measure in (("u", Lines()), ("v", lines)):
        middle = START_MS - MANY // 2
        alias(client, name, **{"from": str(middle), "to": str(middle + 10)})
        threads = Threads()
        gateway.broker.scheduler.offload = threads.offload
        gateway.broker.stats.turns.clock_ns = measure.clock_ns
        reader = gateway.client()
        reader.connection.offload = threads.offload
        EventLoop(reader, threads, measure).serve(request_of(name), version)
        gateway.broker.scheduler.offload = run_here
    assert lines.longest.size < LINES_MAX, lines.longest
    assert len(shown(gateway.client(), "v")) == 10


@pytest.fixture
def looking() -> tuple[Gateway, Client, Threads]:
    """Return a gateway in which a client's fetch waits for the bounds of the window v, and its threads."""
    gateway, client = written()
    alias(client, "v", **{"from": str(START_MS - 800), "to": str(START_MS - 50)})
    threads = Threads()
    gateway.broker.scheduler.offload = threads.offload
    client.send(fetching({("v", 0): 2}), 12)
    gateway.settle()
    assert client.answers() == []
    return gateway, client, threads


def test_records_that_come_while_bounds_are_looked_for_are_judged_by_them(
    looking: tuple[Gateway, Client, Threads],
) -> None:
    gateway, client, threads = looking
    late = [Record(number, START_MS - 60 + 20 * number, None, b"1%d" % number) for number in range(3)]
    gateway.client().send(producing(("t", 0, encode_batch(late))), 9)
    gateway.settle()
    let_work(gateway, threads)
    (answer,) = client.answers()
    # A batch is given whole, as it is stored.
    assert [record.offset for record in records_of(fetched(answer)["v", 0].records)] == list(range(11))
    gateway.broker.scheduler.offload = run_here
    assert shown(gateway.client(), "v") == list(range(2, 11))


def test_a_client_that_leaves_while_bounds_are_looked_for_leaves_them_to_the_next(
    looking: tuple[Gateway, Client, Threads],
) -> None:
    gateway, client, threads = looking
    gateway.broker.disconnect(client.connection)
    let_work(gateway, threads)
    gateway.broker.scheduler.offload = run_here
    assert shown(gateway.client(), "v") == list(range(2, 10))


def test_a_window_that_is_deleted_while_its_bounds_are_looked_for_is_unknown(
    looking: tuple[Gateway, Client, Threads],
) -> None:
    gateway, client, threads = looking
    gateway.broker.scheduler.offload = run_here
    delete(gateway, "v")
    let_work(gateway, threads)
    (answer,) = client.answers()
    assert fetched(answer)["v", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
