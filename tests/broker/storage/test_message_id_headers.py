"""Ids are counted once for a reader that goes on (fetching/test_identified_records.py has the rest)."""

from __future__ import annotations

from typing import Any

import pytest

from broker.storage import message_id_headers, message_ids
from broker.storage.counted_partition import CURSORS_MAX, CountedPartition
from broker.storage.message_id_headers import adds_ids
from protocol.records import iter_batches
from tests.broker.gateway import Client, Gateway
from tests.broker.identified import identified
from tests.broker.kit import batch, create, fetch, fetched, fetching, records_of, send


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the offsets from which batches were counted."""
    counted: list[int] = []
    real = message_ids.ordinal_at

    def noted(partition: Any, offset: int, offload: Any) -> Any:
        counted.append(offset)
        return real(partition, offset, offload)

    monkeypatch.setattr(message_id_headers, "ordinal_at", noted)
    return counted


def one(client: Client, offset: int) -> bytes | None:
    """Return the id of the record at an offset, fetched alone."""
    data = fetched(client.call(fetching({("t", 0): offset}, partition_max_bytes=1), 12))["t", 0]
    (stored,) = iter_batches(data.records)
    (record,) = records_of(stored)
    return record.headers[-1][1]


def test_a_reader_that_goes_on_counts_nothing(client: Client, counts: list[int]) -> None:
    identified(client, entries=100, kawal_message_id_header="true")
    for _ in range(30):
        send(client, "t", batch(b"a"))
    for offset in range(10, 30):
        assert one(client, offset) == b"0:%d:0:-1" % offset
        assert one(client, offset) == b"0:%d:0:-1" % offset, "it comes again"
    assert counts == [10, 10]


def test_numbers_are_kept_for_some_readers_only(gateway: Gateway, client: Client, counts: list[int]) -> None:
    identified(client, entries=100, kawal_message_id_header="true")
    for _ in range(30):
        send(client, "t", batch(b"a"))
    for offset in range(20, 20 - 2 * CURSORS_MAX, -2):
        one(client, offset)
    partition = gateway.partition("t")
    assert isinstance(partition, CountedPartition)
    assert partition.number_at(21) == 21
    one(client, 2)
    assert partition.number_at(21) is None, "the oldest has gone"
    assert partition.number_at(3) == 3


def test_other_partitions_are_not_written_anew(gateway: Gateway, client: Client) -> None:
    create(client, "plain")
    identified(client, "quiet")
    for name in ("plain", "quiet"):
        assert not adds_ids(gateway.partition(name))
        send(client, name, batch(b"a"))
        (record,) = records_of(fetch(client, name).records)
        assert record.headers == ()
