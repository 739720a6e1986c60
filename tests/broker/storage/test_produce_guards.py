"""Settings of a topic that refuse what is produced to it."""

from __future__ import annotations

import pytest

from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client
from tests.broker.kit import batch, create, outcomes, producing, read, send
from tests.broker.topic_requests import altered


def produced(client: Client, records: bytearray, version: int = 9) -> tuple[int, str]:
    """Return the answer about a batch for partition 0 of the topic `t`."""
    (outcome,) = outcomes(client.call(producing(("t", 0, records)), version))
    return outcome.error_code, outcome.error_message or ""


def test_a_read_only_topic_is_read_and_not_written(client: Client) -> None:
    create(client, "t")
    send(client, "t", batch(b"a"))
    assert altered(client, "t", "kawal.read.only", "true") == (0, "")
    assert produced(client, batch(b"b")) == (
        ErrorCode.POLICY_VIOLATION,
        "topic 't' is read-only: kawal.read.only=true",
    )
    assert read(client, "t") == [b"a"]
    assert altered(client, "t", "kawal.read.only", None) == (0, "")
    assert produced(client, batch(b"b"))[0] == 0


@pytest.mark.parametrize(
    ("codec", "refused"),
    [(Codec.NONE, True), (Codec.GZIP, True), (Codec.LZ4, False), (Codec.ZSTD, False), (Codec.SNAPPY, True)],
)
def test_only_the_codecs_named_are_accepted(client: Client, codec: Codec, refused: bool) -> None:
    create(client, "t", kawal_codecs_allowed="zstd, lz4")
    code, message = produced(client, batch(b"a" * 100, codec=codec))
    assert code == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if refused else 0)
    assert ("allows only zstd, lz4 (kawal.codecs.allowed)" in message) is refused


def test_an_unknown_codec_cannot_be_named(client: Client) -> None:
    create(client, "t")
    code, message = altered(client, "t", "kawal.codecs.allowed", "brotli")
    assert code == ErrorCode.INVALID_CONFIG
    assert "none, gzip, snappy, lz4, zstd" in message


def test_a_partition_takes_records_up_to_its_size(client: Client) -> None:
    size = len(batch(b"x" * 100))
    create(client, "t", partitions=2, kawal_max_partition_bytes=str(2 * size))
    for _ in range(2):
        assert produced(client, batch(b"x" * 100))[0] == 0
    code, message = produced(client, batch(b"x" * 100))
    assert code == ErrorCode.POLICY_VIOLATION
    assert f"holds {2 * size} bytes and kawal.max.partition.bytes={2 * size}" in message
    send(client, "t", batch(b"y"), 1)
    assert altered(client, "t", "kawal.max.partition.bytes", "-1") == (0, "")
    assert produced(client, batch(b"x" * 100))[0] == 0
