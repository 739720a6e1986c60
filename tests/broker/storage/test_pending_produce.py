"""The answer to a produce that waits for the disk."""

from __future__ import annotations

from broker.storage.pending_produce import PARTITIONS_PER_SLICE, partition_count
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, outcomes, producing


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
