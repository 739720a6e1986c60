"""kafka-python reads batches of every codec, without libraries beside Kawal's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import codec as known
from kafka.errors import CorruptRecordError
from kafka.record import MemoryRecords
from kafka.record import default_records as batches

from console.kafka_codecs import DECODED, decoder, provide_codecs
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave kafka-python without codecs, as an installation does; all is put back at the end."""
    for name in ("gzip", "snappy", "lz4", "zstd"):
        monkeypatch.setattr(known, f"has_{name}", lambda: False)
        monkeypatch.setattr(batches, f"{name}_decode", None)


@pytest.mark.parametrize("codec", DECODED)
def test_a_batch_of_any_codec_is_read(codec: Codec, bare: None) -> None:
    data = encode_batch([Record(0, 5, b"k", b"tea" * 1000)], codec=codec)
    provide_codecs()
    (batch,) = iter_batches(bytes(data))
    assert [record.value for record in batch] == [b"tea" * 1000]


def iter_batches(data: bytes) -> Iterator[Any]:
    records = MemoryRecords(data)
    while (batch := records.next_batch()) is not None:
        yield batch


@pytest.mark.parametrize("codec", DECODED)
def test_what_cannot_be_decompressed_is_an_error_of_kafka_python(codec: Codec) -> None:
    with pytest.raises(CorruptRecordError, match="cannot be decompressed"):
        decoder(codec)(b"junk of no codec")
