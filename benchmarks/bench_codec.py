"""The cost of the hot messages: `python -m benchmarks.bench_codec`.

Microseconds per message with the specialised codec and with the construct codec of the same declaration, and
per batch for the work of Produce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.clients import wire as raw
from benchmarks.micro import microseconds
from protocol.api_keys import ApiKey
from protocol.headers import decode_request_header, encode_request_header, encode_response_header
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.records import check_crc, patch_offset_and_epoch, read_batch_header
from protocol.wire import decode, encode, joined, reference_codec

TOPIC_ID = UUID(int=1 << 100)
SMALL_BATCH = raw.batch([b"x" * 100])
LARGE_BATCH = raw.batch([b"x" * 1_000] * 128)


class Message(NamedTuple):
    """A message to encode and decode."""

    name: str
    message: Any
    version: int


def main() -> None:
    """Print the table."""
    print(f"{'message':<52}{'decode µs':>11}{'construct':>11}{'encode µs':>11}{'construct':>11}")
    for name, message, version in _messages():
        cls, frame = type(message), memoryview(joined(encode(message, version)))
        reference = reference_codec(cls, version)
        figures = (
            microseconds(partial(decode, cls, version, frame)),
            microseconds(partial(reference.decode, frame, 0)),
            microseconds(partial(encode, message, version)),
            microseconds(partial(reference.encode, message)),
        )
        print(f"{f'{name}, v{version}':<52}" + "".join(f"{figure:>11.2f}" for figure in figures))
    print(f"\n{'per request or batch':<52}{'µs':>11}")
    for name, function in _functions():
        print(f"{name:<52}{microseconds(function):>11.2f}")


def _messages() -> Iterator[Message]:
    for version in (9, 13):
        for count, batch in ((1, SMALL_BATCH), (8, LARGE_BATCH), (100, SMALL_BATCH)):
            yield Message(f"Produce request, {_partitions(count)}", _produce(count, batch), version)
        for count in (1, 100):
            yield Message(f"Produce response, {_partitions(count)}", _produced(count), version)
    for version in (11, 13):
        for count in (1, 100):
            yield Message(f"Fetch request, {_partitions(count)}", _fetch(count), version)
            yield Message(f"Fetch response, {_partitions(count)}", _fetched(count), version)


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


def _produce(count: int, batch: bytes) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=batch) for index in range(count)]
    topic = TopicProduceData(name="flights", topic_id=TOPIC_ID, partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def _produced(count: int) -> ProduceResponse:
    outcomes = [
        PartitionProduceResponse(index=index, base_offset=1_000, log_start_offset=0) for index in range(count)
    ]
    return ProduceResponse(
        responses=[TopicProduceResponse(name="flights", topic_id=TOPIC_ID, partition_responses=outcomes)]
    )


def _fetch(count: int) -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=1_000, partition_max_bytes=1 << 20)
        for index in range(count)
    ]
    topic = FetchTopic(topic="flights", topic_id=TOPIC_ID, partitions=partitions)
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])


def _fetched(count: int) -> FetchResponse:
    partitions = [
        PartitionData(
            partition_index=index,
            high_watermark=2_000,
            last_stable_offset=2_000,
            log_start_offset=0,
            records=LARGE_BATCH,
        )
        for index in range(count)
    ]
    topic = FetchableTopicResponse(topic="flights", topic_id=TOPIC_ID, partitions=partitions)
    return FetchResponse(responses=[topic])


def _functions() -> Iterator[tuple[str, Callable[[], Any]]]:
    request_header = encode_request_header(
        api_key=ApiKey.PRODUCE, api_version=13, correlation_id=7, client_id="bench"
    )
    header = memoryview(request_header + b"\0" * 8)
    large = bytearray(LARGE_BATCH)
    yield "request header, decode", lambda: decode_request_header(header)
    yield "response header, encode", lambda: encode_response_header(ApiKey.PRODUCE, 13, 7)
    yield "batch header, decode", lambda: read_batch_header(large)
    yield f"batch CRC-32C, {len(SMALL_BATCH)} bytes", lambda: check_crc(SMALL_BATCH)
    yield f"batch CRC-32C, {len(LARGE_BATCH):,} bytes", lambda: check_crc(LARGE_BATCH)
    yield "batch offset and epoch, patch", lambda: patch_offset_and_epoch(large, 1 << 40, 3)


if __name__ == "__main__":
    main()
