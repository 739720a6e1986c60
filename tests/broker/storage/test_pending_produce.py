"""The answer to a produce that waits for the disk."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

import pytest

from broker.handlers import produce
from broker.storage.pending_produce import (
    PARTITIONS_PER_SLICE,
    PendingProduce,
    own_records,
    partition_count,
)
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, outcomes, producing, read


def test_partitions_are_counted_up_to_more_than_a_slice() -> None:
    assert partition_count(producing(("t", 0, None), ("t", 1, None))) == 2
    many = producing(*(("t", index, None) for index in range(3 * PARTITIONS_PER_SLICE)))
    assert partition_count(many) > PARTITIONS_PER_SLICE


def test_an_answer_leaves_when_all_of_its_vnodes_have_synced(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", 2)
    client.send(producing(("t", 0, batch(b"a")), ("t", 1, batch(b"b"))), 9)
    assert client.answers() == []
    gateway.settle()
    (answer,) = client.answers()
    assert [outcome.error_code for outcome in outcomes(answer)] == [0, 0]


def test_the_copies_of_many_batches_take_little_more_than_their_bytes() -> None:
    received = bytearray(batch(b"a"))
    size, count = len(received), 1_000
    call: Any = SimpleNamespace(request=producing(*(("t", index, None) for index in range(count))))
    parts = [data for topic in call.request.topic_data for data in topic.partition_data]
    assert len(parts) == count
    for data in parts:
        data.records = memoryview(received)
    tracemalloc.start()
    own_records(call)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < count * (size + 100)
    expected = bytes(received)
    received[:] = bytes(size)
    assert call.data_owned
    assert all(data.records == expected for data in parts)


def test_a_request_that_waits_for_the_disk_keeps_no_records(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[PendingProduce] = []

    def noted(*given: Any) -> PendingProduce:
        waiting.append(PendingProduce(*given))
        return waiting[-1]

    monkeypatch.setattr(produce, "PendingProduce", noted)
    client = gateway.client()
    create(client, "t", 2)
    client.send(producing(("t", 0, batch(b"a")), ("t", 1, batch(b"b"))), 9)
    assert client.answers() == []
    (pending,) = waiting
    assert [data.records for topic in pending.call.request.topic_data for data in topic.partition_data] == [
        None,
        None,
    ]
    gateway.settle()
    assert len(client.answers()) == 1
    assert read(client, "t") == [b"a"]
