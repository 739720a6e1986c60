"""Records that carry their producer's name and number, for tests of kawal.dedup=seqno."""

from __future__ import annotations

import struct
from typing import Any

from protocol.compression import Codec
from protocol.record_reader import Headers, Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client
from tests.broker.kit import create, fetch, send


def headers(name: bytes, seqno: int) -> Headers:
    """Return the two headers."""
    return (("kawal-producer-id", name), ("kawal-seqno", struct.pack(">q", seqno)))


def numbered(
    *seqnos: int,
    name: bytes = b"sensor",
    codec: int = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
) -> bytearray:
    """Return a batch of a producer; each record's value is its number."""
    return of_records(
        [(name, seqno) for seqno in seqnos], codec=codec, producer=producer, transactional=transactional
    )


def of_records(
    rows: list[tuple[bytes, int]],
    *,
    codec: int = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
) -> bytearray:
    """Return a batch of records of these producers and numbers."""
    records = [
        Record(offset, START_MS, b"k", b"%d" % seqno, headers(name, seqno))
        for offset, (name, seqno) in enumerate(rows)
    ]
    return encode_batch(
        records,
        codec=codec,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        transactional=transactional,
    )


def dedup_topic(client: Client, name: str = "t", partitions: int = 1, **configs: str) -> None:
    """Create a topic that drops repetitions."""
    create(client, name, partitions, kawal_dedup="seqno", **configs)


def sent(client: Client, *seqnos: int, name: bytes = b"sensor", partition: int = 0) -> tuple[int, int]:
    """Produce a batch and return the error and the base offset."""
    outcome: Any = send(client, "t", numbered(*seqnos, name=name), partition)
    return outcome.error_code, outcome.base_offset


def stored(client: Client, partition: int = 0) -> list[tuple[int, int]]:
    """Return the offset and the number of each record in a partition, gaps at the end included in none."""
    found: list[tuple[int, int]] = []
    position, end = 0, fetch(client, "t", 0, partition).high_watermark
    while position < end:
        for batch in iter_batches(fetch(client, "t", position, partition).records):
            if not read_batch_header(batch).is_control:
                found += [(record.offset, int(record.value or b"-1")) for record in iter_records(batch)]
            (delta,) = struct.unpack_from(">i", batch, 23)
            position = struct.unpack_from(">q", batch)[0] + delta + 1
    return found
