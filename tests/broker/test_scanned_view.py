"""What views that look at stored batches share: remembering, and leaving out what was aborted."""

from __future__ import annotations

import pytest

from broker.scanned_view import is_aborted
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, read_batch_header
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, send, values
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
