"""Views that scan stored records: none is scanned twice, no fetch is woken in vain, memory is bounded."""

from __future__ import annotations

from typing import Any

import pytest

from broker.view_topics import database_view, scanned_view
from broker.view_topics.database_view import DatabasePartition
from broker.view_topics.scanned_view import is_aborted
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import read_batch_header
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, fetch, fetched, fetching, records_of, send
from tests.broker.views import database, read_all
from wal.transactions import AbortedTransaction


def partition_of(gateway: Gateway) -> DatabasePartition:
    found = gateway.partition("all")
    assert isinstance(found, DatabasePartition)
    return found


def test_records_are_looked_at_once_for_all_readers() -> None:
    gateway, client = database()
    for number in range(5):
        send(client, "b", batch(b"%d" % number))
    for _ in range(4):
        assert len(read_all(gateway.client())) == 5
    counters = gateway.broker.views.counters_of(gateway.broker.find_topic("all"))
    assert counters.scanned == 5
    assert counters.shown >= 20


def test_new_records_are_looked_at_once_for_all_who_wait() -> None:
    gateway, client = database()
    end = fetch(client, "all").high_watermark
    readers = [gateway.client() for _ in range(5)]
    for reader in readers:
        reader.send(fetching({("all", 0): end}, max_wait_ms=10_000), 12)
    send(client, "b", batch(b"x"))
    gateway.settle()
    for reader in readers:
        (answer,) = reader.answers()
        assert len(list(records_of(bytes(fetched(answer)["all", 0].records)))) == 1
    assert gateway.broker.views.counters_of(gateway.broker.find_topic("all")).scanned == 1


def test_a_long_look_is_made_in_slices_and_ends_with_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    _, client = database()
    for _ in range(30):
        send(client, "b", batch(*[b"x"] * 200))
    monkeypatch.setattr(scanned_view, "FETCH_SLICES", 1)
    monkeypatch.setattr(database_view, "SCAN_BYTES", 1)
    data: Any = fetch(client, "all")
    found = list(records_of(bytes(data.records)))
    assert 0 < len(found) < 6_000
    assert len(read_all(client)) == 6_000


def test_what_a_view_found_is_given_back_when_it_is_deleted() -> None:
    gateway, client = database()
    send(client, "b", batch(b"x" * 1_000))
    read_all(client)
    assert gateway.broker.views.budget.used_bytes > 1_000
    gateway.broker.delete_topic(gateway.broker.find_topic("all"), gateway.now_ms)
    gateway.settle()
    assert gateway.broker.views.budget.used_bytes == 0


def test_only_transactional_batches_between_the_offsets_are_aborted() -> None:
    aborted = [AbortedTransaction(7, 10, 20, 20)]

    def judged(offset: int, *, producer: int = 7, transactional: bool = True) -> bool:
        data = encode_batch(
            [Record(offset, START_MS, None, b"v")],
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            transactional=transactional,
        )
        return is_aborted(read_batch_header(data), aborted)

    assert judged(10)
    assert judged(20)
    assert not judged(9)
    assert not judged(21)
    assert not judged(15, producer=8)
    assert not judged(15, transactional=False)
