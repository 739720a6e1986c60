"""The log's record of a stream: small, because there are many, and complete after a restart."""

from __future__ import annotations

import pytest

from wal.scan import NO_TIMESTAMP
from wal.stream import Stream


def test_a_new_stream_is_empty() -> None:
    stream = Stream(7)

    assert (stream.log_start, stream.high_watermark, stream.next_offset, stream.size_bytes) == (0, 0, 0, 0)
    assert (stream.max_timestamp, stream.max_timestamp_offset) == (NO_TIMESTAMP, -1)
    assert (stream.leader_epoch, stream.epochs) == (0, ())
    assert not stream.dropped
    assert not stream.forgotten


def test_all_that_a_checkpoint_knows_of_a_stream_is_visible_again() -> None:
    stream = Stream(2**64 - 1, 100, 40, 5_000, 1_700_000_000_000, 90)

    assert stream.high_watermark == stream.next_offset == 100
    assert (stream.log_start, stream.size_bytes) == (40, 5_000)
    assert (stream.max_timestamp, stream.max_timestamp_offset) == (1_700_000_000_000, 90)


def test_a_stream_has_no_room_for_anything_else() -> None:
    with pytest.raises(AttributeError):
        Stream(1).note = "x"  # type: ignore[attr-defined]
    assert not hasattr(Stream(1), "__dict__")
