"""The source and sink of the reference codec."""

from __future__ import annotations

import pytest

from protocol.errors import Malformed
from protocol.streams import Sink, Source


def test_source_hands_out_slices_of_its_input() -> None:
    data = bytearray(b"abcdef")
    source = Source(memoryview(data), 1, 10)
    piece = source.read(3)
    data[1] = 0x58
    assert bytes(piece) == b"Xcd"
    assert (source.position, source.left) == (4, 2)


def test_source_refuses_more_than_is_left() -> None:
    source = Source(memoryview(b"abcdef"), 4, 10)
    source.require(2, "x")
    with pytest.raises(Malformed, match="x at byte 4: needs 3 more bytes; 2 are left"):
        source.require(3, "x")


def test_source_counts_elements_down() -> None:
    source = Source(memoryview(b""), 0, 10)
    source.count_elements(10, "x")
    with pytest.raises(Malformed, match="above 10 elements"):
        source.count_elements(1, "x")


def test_sink_grows_its_last_buffer() -> None:
    sink = Sink()
    assert sink.write(b"ab") == 2
    sink.write(b"c")
    assert sink.buffers == [b"abc"]
