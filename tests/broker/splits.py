"""Topics whose partitions split, without sockets.

split_topic(client); split(client, 0)
assert where(client, b"key") == 1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from protocol.compression import Codec
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem
from protocol.partitioner import murmur2
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client
from tests.broker.kit import create, fetch

SPEED = 1_000_000

HIGH, LOW = b"d", b"a"
"""Keys of the upper half of the range of a topic with one root (odd hashes), and of the lower."""

assert murmur2(HIGH) & 1 > murmur2(LOW) & 1


def split_topic(client: Client, name: str = "t", partitions: int = 1, **configs: Any) -> Any:
    """Create a topic whose partitions split when they are told to."""
    settings = {
        "kawal_partition_autosplit_mode": "paused",
        "kawal_partition_write_bytes_per_sec": str(SPEED),
        **configs,
    }
    return create(client, name, partitions, **settings)


def splitting(partition: int, name: str = "t") -> KawalTopicsRequest:
    """Return a request to split a partition."""
    return KawalTopicsRequest(action=TopicAction.SPLIT, topics=[TopicItem(name=name, partition=partition)])


def split(client: Client, partition: int = 0, name: str = "t") -> tuple[int, str]:
    """Split a partition and return the error and its sentence."""
    (result,) = client.call(splitting(partition, name), 0).topics
    return result.error_code, result.error_message or ""


def tree(client: Client, name: str = "t") -> list[Any]:
    """Return the rows of the partition tree."""
    request = KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=[TopicItem(name=name)])
    (result,) = client.call(request, 0).topics
    rows: list[Any] = result.tree
    return rows


def keyed(
    *rows: tuple[bytes | None, bytes],
    codec: int = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
) -> bytearray:
    """Return a batch of records with these keys and values."""
    records = [Record(offset, START_MS, key, value) for offset, (key, value) in enumerate(rows)]
    return encode_batch(
        records,
        codec=codec,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        transactional=transactional,
    )


def batches(client: Client, partition: int, name: str = "t") -> Iterable[Any]:
    """Yield the batches of a partition, with what was stored of transactions that are open or aborted."""
    position, end = 0, fetch(client, name, 0, partition).high_watermark
    while position < end:
        for batch in iter_batches(fetch(client, name, position, partition).records):
            yield batch
            position = read_batch_header(batch).last_offset + 1


def stored(client: Client, partition: int = 0, name: str = "t") -> list[tuple[int, bytes | None, bytes]]:
    """Return the offset, key and value of each record of a partition, without markers."""
    return [
        (record.offset, record.key, record.value or b"")
        for batch in batches(client, partition, name)
        if not read_batch_header(batch).is_control
        for record in iter_records(batch)
    ]


def values_of(client: Client, partition: int = 0, name: str = "t") -> list[bytes]:
    """Return the values of a partition's records."""
    return [value for _, _, value in stored(client, partition, name)]
