"""kawal.check.records=open: refused is what Apache Kafka's validator refuses."""

from __future__ import annotations

import pytest

from compat_tests.batches import CODECS, Batch, varint
from compat_tests.broker import Broker
from compat_tests.requests import list_offset, produce
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient
from protocol.compression import compress

INVALID_RECORD, UNKNOWN_SERVER_ERROR, INVALID_TIMESTAMP = 87, -1, 32


def framed(body: bytes, length: int | None = None) -> bytes:
    return varint(len(body) if length is None else length) + body


def record(headers: bytes = b"\0", *, delta: int = 0, time: int = 0, key_length: int = 1) -> bytes:
    return framed(
        b"\0" + varint(time) + varint(delta) + varint(key_length) + b"k" + varint(1) + b"v" + headers
    )


RIGHT = {
    "plain": (record(), 1),
    "null header value": (record(b"\x02\x02a\x01"), 1),
    "header name that is not UTF-8": (record(b"\x02\x04\xff\xfe\x02b"), 1),
    "two": (record() + record(delta=1), 2),
}

WRONG = {
    "null header name": (record(b"\x02\x01\x02b"), 1),
    "negative header count": (record(b"\x01"), 1),
    "too many headers counted": (record(b"\x06\x02a\x02b"), 1),
    "key longer than its record": (record(key_length=100), 1),
    "bytes after the headers": (record(b"\0xx"), 1),
    "length of 0": (b"\0" + record(), 1),
    "negative length": (b"\x05" + record(), 1),
    "bytes after the last record": (record() + b"zz", 1),
    "a record more than counted": (record() + record(delta=1), 1),
    "a record less than counted": (record(), 2),
    "no record": (b"", 1),
}
"""INVALID_RECORD from both, whatever the codec."""


def topic_that_checks(broker: Broker, topic: str) -> str:
    create_topic(broker, topic, 1, {"kawal.check.records": "open"} if broker.kind == "kawal" else {})
    return topic


def code_of(raw: RawClient, topic: str, content: bytes, count: int, codec: int) -> int:
    payload = compress(codec, content)
    batch = Batch(values=[b"v"] * count, attributes=codec, payload=payload)
    return int(produce(raw, topic, batch).error_code)


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_wrong_records_are_refused_and_right_ones_accepted(
    broker: Broker, raw: RawClient, topic: str, codec: str
) -> None:
    topic_that_checks(broker, topic)
    number = CODECS.get(codec, 0)
    found = {name: code_of(raw, topic, *case, number) for name, case in (WRONG | RIGHT).items()}
    assert found == {**dict.fromkeys(WRONG, INVALID_RECORD), **dict.fromkeys(RIGHT, 0)}
    late = record(time=7_200_000 * 1_000_000)
    assert code_of(raw, topic, late, 1, number) == INVALID_TIMESTAMP
    assert list_offset(raw, topic, -1).offset == sum(count for _, count in RIGHT.values())


@pytest.mark.differs(
    reason="UNKNOWN_SERVER_ERROR makes idempotent Java producers write duplicates (KAFKA-14034)"
)
@pytest.mark.parametrize("codec", CODECS)
def test_records_that_do_not_decompress_or_do_not_follow_each_other_are_refused(
    broker: Broker, raw: RawClient, topic: str, codec: str
) -> None:
    topic_that_checks(broker, topic)
    packed = compress(CODECS[codec], record() * 50)
    refused = {INVALID_RECORD} if broker.kind == "kawal" else {INVALID_RECORD, UNKNOWN_SERVER_ERROR}
    for payload in (packed[:-6], b"not compressed at all", b""):
        part = produce(raw, topic, Batch(attributes=CODECS[codec], payload=payload))
        assert part.error_code in refused
    for first, second in ((0, 2), (0, 0), (1, 0)):
        content = record(delta=first) + record(delta=second)
        assert code_of(raw, topic, content, 2, CODECS[codec]) in refused


@pytest.mark.differs(reason="readers rely on offsets that ascend, and no producer sends others")
def test_offsets_that_do_not_follow_each_other_are_refused_without_a_codec_too(
    broker: Broker, raw: RawClient, topic: str
) -> None:
    topic_that_checks(broker, topic)
    for first, second in ((0, 2), (0, 0), (1, 0)):
        code = code_of(raw, topic, record(delta=first) + record(delta=second), 2, 0)
        assert code == (INVALID_RECORD if broker.kind == "kawal" else 0)
