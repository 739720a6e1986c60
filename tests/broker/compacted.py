"""Helpers for tests of compaction: topics that are soon compacted, keyed records, passing time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker.config.config import Config
from protocol.compression import Codec
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, fetch, send

BACKOFF_MS = Config().log_cleaner_backoff_ms

SMALL = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": "1000",
    "min_cleanable_dirty_ratio": "0.01",
}
"""A topic that is compacted whenever a small segment is full."""

Pair = tuple[bytes | None, bytes | None]


def keyed(
    pairs: Iterable[Pair],
    *,
    timestamp_ms: int = START_MS,
    codec: int = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytearray:
    """Return a batch of records with these keys and values."""
    records = [Record(offset, timestamp_ms + offset, *pair) for offset, pair in enumerate(pairs)]
    identity, epoch, sequence = producer
    return encode_batch(
        records, codec=codec, producer_id=identity, producer_epoch=epoch, base_sequence=sequence
    )


def put(client: Client, name: str, pairs: Iterable[Pair], timestamp_ms: int = START_MS) -> int:
    """Produce a batch and return its base offset."""
    answer = send(client, name, keyed(pairs, timestamp_ms=timestamp_ms))
    assert answer.error_code == 0, answer
    return int(answer.base_offset)


def fill(client: Client, name: str, timestamp_ms: int = START_MS) -> None:
    """Begin a new segment twice, so that no earlier record is in the active one."""
    for number in range(2):
        put(client, name, [(b"filler", b"%d" % number * 900)], timestamp_ms)


def pass_time(gateway: Gateway, duration_ms: int = BACKOFF_MS + 1_000) -> None:
    """Let time pass, on both clocks."""
    end_ms = gateway.now_ms + duration_ms
    while gateway.now_ms < end_ms:
        gateway.advance(min(1_000, end_ms - gateway.now_ms))
        gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)


def made(client: Client, name: str = "t", **configs: str) -> str:
    """Create a topic that is soon compacted, and return its name."""
    create(client, name, 1, **{**SMALL, **configs})
    return name


def batches(client: Client, name: str, offset: int = 0) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """Yield all batches that a reader gets, fetch by fetch."""
    while True:
        data = fetch(client, name, offset)
        assert data.error_code == 0, data
        if not data.records:
            assert offset >= data.high_watermark, "a reader is stuck"
            return
        for batch in iter_batches(data.records):
            header = read_batch_header(batch)
            yield header, list(iter_records(batch))
            offset = header.last_offset + 1


def records(client: Client, name: str) -> list[Record]:
    """Return all records that a reader gets."""
    return [record for _, found in batches(client, name) for record in found]


def pairs_of(client: Client, name: str) -> list[tuple[int, bytes, bytes | None]]:
    """Return offset, key and value of each record that a reader gets, without the fillers."""
    return [
        (record.offset, record.key or b"", record.value)
        for record in records(client, name)
        if record.key != b"filler"
    ]
