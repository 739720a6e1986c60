"""Kawal's codecs for kafka-python's consumer, which reads for `consume --group`.

By itself kafka-python reads snappy and lz4 only beside libraries that an installation of Kawal does not
have, and expands gzip without bounds.

Source: kafka-python 3.0, kafka/record/default_records.py, _maybe_uncompress.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from protocol.compression import Codec, decompress
from protocol.errors import Malformed

DECODED: Final = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)


def provide_codecs() -> None:
    """Let kafka-python, in this process, read batches of all codecs by ours; more than once is no harm."""
    from kafka import codec as known
    from kafka.record import default_records as batches

    for codec in DECODED:
        name = codec.name.lower()
        setattr(known, f"has_{name}", _always)
        assert hasattr(batches, f"{name}_decode"), "kafka-python has moved its codecs"
        setattr(batches, f"{name}_decode", decoder(codec))


def decoder(codec: Codec) -> Callable[[bytes], bytes]:
    """Return what decompresses the records of a batch, or raises kafka-python's CorruptRecordError."""

    def decode(data: bytes) -> bytes:
        try:
            return decompress(codec, data)
        except Malformed as error:
            from kafka.errors import CorruptRecordError

            raise CorruptRecordError(f"a batch cannot be decompressed: {error}") from error

    return decode


def _always() -> bool:
    return True
