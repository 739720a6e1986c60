"""Records that letters copy: of all codecs, from gaps, and of batches that cannot be read."""

from __future__ import annotations

import pytest

from broker.fetching.originals import originals_of
from groups.share.record_range import StoredRange
from groups.share.states import RecordState
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.records import renew_crc
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.txn import Producer


def part(first: int, last: int) -> StoredRange:
    return StoredRange(first, last, RecordState.ARCHIVING, 1)


def found(
    gateway: Gateway, *ranges: StoredRange, max_bytes: int = 1 << 20
) -> tuple[list[tuple[int, int]], dict[int, bytes | None]]:
    steps = originals_of(gateway.partition("jobs"), ranges, max_bytes, gateway.broker)
    try:
        while True:
            waits = next(steps)
            if waits is not None:
                waits.start(lambda: None)
    except StopIteration as end:
        looked_at, originals = end.value
    assert all(isinstance(record, Record) for record in originals.values())
    ranges_seen = [(seen.first, seen.last) for seen in looked_at]
    return ranges_seen, {offset: record.value for offset, record in originals.items()}


@pytest.fixture
def gateway() -> Gateway:
    made = Gateway(kawal_vnodes=1)
    create(made.client(), "jobs")
    return made


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_only_the_records_of_the_ranges_are_returned(gateway: Gateway, codec: Codec) -> None:
    send(gateway.client(), "jobs", batch(*[b"%d" % number for number in range(9)], codec=codec))
    assert found(gateway, part(1, 2), part(7, 8)) == (
        [(1, 2), (7, 8)],
        {1: b"1", 2: b"2", 7: b"7", 8: b"8"},
    )


def test_after_enough_bytes_the_rest_is_left(gateway: Gateway) -> None:
    for number in range(4):
        send(gateway.client(), "jobs", batch(b"%d" % number * 40_000))
    looked_at, values = found(gateway, part(0, 3), max_bytes=50_000)
    assert looked_at == [(0, max(values))]
    assert 0 < max(values) < 3
    assert found(gateway, part(0, 0), part(2, 2), max_bytes=10)[0] == [(0, 0)]


def test_markers_are_no_records(gateway: Gateway) -> None:
    producer = Producer(gateway)
    producer.write("jobs", 0, b"a")
    producer.commit()
    assert found(gateway, part(0, 1)) == ([(0, 1)], {0: b"a"})


def test_a_batch_that_cannot_be_read_has_no_records_and_others_have(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    broken = batch(b"a", b"b", codec=Codec.GZIP)
    broken[61:] = bytes(len(broken) - 61)
    renew_crc(broken)
    send(gateway.client(), "jobs", broken)
    send(gateway.client(), "jobs", batch(b"c"))
    assert found(gateway, part(0, 2)) == ([(0, 2)], {2: b"c"})
    assert "batch at offset 0 have no content" in caplog.text
