"""A coordinator's records are appended as one batch, in the order in which they were made."""

from __future__ import annotations

from broker.coordinators.records import append_records
from protocol.record_reader import iter_records
from protocol.records import iter_batches
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create, fetch


def test_records_are_appended_as_one_batch_and_a_missing_value_is_a_tombstone() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    partition = gateway.partition("t")
    append_records(partition, [(b"a", b"1"), (b"b", None)], START_MS)
    assert partition.vnode.last_version == partition.vnode.log.next_version
    gateway.settle()
    (batch,) = iter_batches(fetch(client, "t").records)
    found = [(record.key, record.value, record.timestamp_ms) for record in iter_records(batch)]
    assert found == [(b"a", b"1", START_MS), (b"b", None, START_MS)]
