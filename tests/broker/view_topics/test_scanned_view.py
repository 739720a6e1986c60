"""The common part of views that scan stored batches: remembering, and leaving out aborted batches."""

from __future__ import annotations

import pytest

from broker.loop.slices import WaitingSteps
from broker.view_topics.query_view import QueryPartition
from broker.view_topics.scanned_view import FETCH_MS, LOOKING_MAX, is_aborted
from broker.view_topics.view_cache import Evaluated
from broker.view_topics.view_partition import ViewRead
from broker.view_topics.view_slices import SliceBudget
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, iter_batches, read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, send, values
from wal.transactions import AbortedTransaction

ABORTED = [AbortedTransaction(producer_id=7, first_offset=10, last_offset=20, last_stable_offset=21)]


def header(offset: int, producer_id: int = 7, *, transactional: bool = True) -> BatchHeader:
    made = encode_batch(
        [Record(offset, 1_000, None, b"v")], producer_id=producer_id, transactional=transactional
    )
    return read_batch_header(made)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (header(10), True),
        (header(20), True),
        (header(9), False),
        (header(21), False),
        (header(15, producer_id=8), False),
        (header(15, transactional=False), False),
    ],
)
def test_batches_of_aborted_transactions_are_told_by_producer_and_offset(
    one: BatchHeader, expected: bool
) -> None:
    assert is_aborted(one, ABORTED) is expected


def test_what_was_found_is_looked_up_again_when_the_memory_for_it_is_too_small() -> None:
    gateway = Gateway(kawal_views_cache_bytes=1 << 20)
    client = gateway.client()
    create(client, "t")
    create(client, "v", partitions=-1, kawal_sql="SELECT * FROM t WHERE _offset >= 0")
    gateway.broker.config = gateway.broker.live_config.current
    for number in range(3):
        send(client, "t", batch(b"%d" % number * 500_000))
    for _ in range(2):
        shown = [values(fetch(client, "v", offset).records)[0][:1] for offset in range(3)]
        assert shown == [b"0", b"1", b"2"]
    view = gateway.broker.find_topic("v")
    assert gateway.broker.views.budget.used_bytes <= 1 << 20
    assert gateway.broker.views.counters_of(view).scanned > 3


def readers_of(gateway: Gateway, count: int, records: int) -> list[Client]:
    """Make `count` views over a topic with so many records, and return a client for each."""
    producer = gateway.client()
    create(producer, "t")
    for _ in range(records // 1_000):
        send(producer, "t", batch(*[b"x"] * 1_000))
    clients = [gateway.client() for _ in range(count)]
    for number, client in enumerate(clients):
        create(
            client,
            f"v{number}",
            partitions=-1,
            kawal_sql=f"SELECT _offset FROM t WHERE _offset % 7 >= {number}",
        )
    return clients


def test_only_a_few_fetches_look_at_the_same_time_and_all_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway()
    clients = readers_of(gateway, LOOKING_MAX + 3, 20_000)
    most = 0
    look = QueryPartition.look

    def counted(self: QueryPartition, offset: int, budget: SliceBudget) -> WaitingSteps:
        nonlocal most
        for rest in look(self, offset, budget):
            most = max(most, gateway.broker.views.looking)
            yield rest

    monkeypatch.setattr(QueryPartition, "look", counted)
    for number, client in enumerate(clients):
        client.send(fetching({(f"v{number}", 0): 0}, max_wait_ms=100), 12)
    gateway.settle()
    assert [len(client.answers()) for client in clients] == [1] * len(clients)
    assert most == LOOKING_MAX
    assert gateway.broker.views.looking == 0


def test_a_client_that_leaves_gives_its_place_to_others() -> None:
    gateway = Gateway()
    clients = readers_of(gateway, 2, 20_000)
    gateway.broker.views.looking = LOOKING_MAX - 1
    for number, client in enumerate(clients):
        client.send(fetching({(f"v{number}", 0): 0}, max_wait_ms=100), 12)
    gateway.broker.scheduler.run()
    clients[0].close()
    gateway.settle()
    assert len(clients[1].answers()) == 1
    assert gateway.broker.views.looking == LOOKING_MAX - 1


def test_a_fetch_that_takes_long_is_answered_with_how_far_it_came() -> None:
    gateway = Gateway()
    (client,) = readers_of(gateway, 1, 40_000)
    client.call(ApiVersionsRequest(client_software_name="kgo", client_software_version="1"), 3)
    client.send(fetching({("v0", 0): 0}, max_wait_ms=100), 12)
    for _ in range(3):
        gateway.broker.scheduler.run()
    gateway.broker.set_clocks(now_ms=gateway.now_ms + FETCH_MS + 1, wall_ms=gateway.now_ms)
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
    (answer,) = client.answers()
    batches = list(iter_batches(bytes(fetched(answer)["v0", 0].records)))
    assert 0 < read_batch_header(batches[-1]).last_offset < 39_999


def test_what_is_known_is_taken_up_in_slices_too() -> None:
    gateway = Gateway()
    (client,) = readers_of(gateway, 1, 4_000)
    fetch(client, "v0")
    view = gateway.partition("v0")
    assert isinstance(view, QueryPartition)
    for offset in range(4_000):
        view.ranges.add(Evaluated(offset, offset + 1, bytes(batch(b"x"))))
    read = ViewRead(0, 50 << 20)
    assert sum(1 for _ in view.steps(read)) == 2
    assert (len(read.parts), read.position) == (4_000, 4_000)


def test_a_reader_that_waits_is_not_forgotten_for_one_that_comes_during_a_rest() -> None:
    gateway = Gateway()
    (first,) = readers_of(gateway, 1, 0)
    producer, second = gateway.client(), gateway.client()
    first.send(fetching({("v0", 0): 0}, max_wait_ms=60_000), 12)
    gateway.settle()
    gateway.broker.views._rests_until_ms = gateway.now_ms + 100
    send(producer, "t", batch(b"x"))
    second.send(fetching({("v0", 0): 1}, max_wait_ms=60_000), 12)
    gateway.advance(100)
    (answer,) = first.answers()
    assert values(fetched(answer)["v0", 0].records) == [b'{"_offset":0}']
