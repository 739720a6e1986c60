"""Opening compressed batches for views: at once if little is in them, else where the caller wants it.

A batch of 16 KB may open to 16 MiB, which takes 30 ms: nothing but the attempt tells.
"""

from __future__ import annotations

from typing import Final

from protocol.compression import Codec, DecompressedTooLarge
from protocol.errors import Malformed
from protocol.record_reader import open_records
from protocol.records import HEADER_BYTES, read_batch_header

SMALL_BYTES: Final = 64 << 10
"""The largest batch that may be opened at once."""

SMALL_CONTENT_BYTES: Final = 256 << 10
"""The most that it may open to: about 0.5 ms of gzip."""

Opened = bytes | Malformed
"""The records of a batch, or the reason why it cannot be opened."""


def is_packed(batch: memoryview) -> bool:
    """Whether a batch is compressed."""
    return len(batch) >= HEADER_BYTES and read_batch_header(batch).codec != Codec.NONE


def opened(batch: memoryview, limit_bytes: int) -> Opened:
    """Open a batch."""
    try:
        return open_records(read_batch_header(batch), batch, limit_bytes)
    except Malformed as error:
        return error.without_frames()


def opened_if_small(batch: memoryview, limit_bytes: int) -> Opened | None:
    """Open a batch that holds little; None if it may hold more."""
    if len(batch) > SMALL_BYTES:
        return None
    found = opened(batch, min(limit_bytes, SMALL_CONTENT_BYTES))
    return None if isinstance(found, DecompressedTooLarge) else found
