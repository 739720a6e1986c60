"""Tests of groups/offset_values.py."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from groups.offset_values import unreadable
from groups.offsets import NO_EXPIRY, Committed, committed_bytes, read_committed
from groups.record_schemas import OffsetCommitValue
from protocol.errors import ProtocolError
from protocol.wire import encode, joined
from tests.groups.test_offsets import values


@given(values, st.integers(0, 4))
def test_every_value_that_can_be_read_is_readable(committed: Committed, version: int) -> None:
    written = OffsetCommitValue(
        offset=committed.offset, metadata=committed.metadata, commit_timestamp=committed.commit_ms
    )
    assert unreadable(version.to_bytes(2, "big") + joined(encode(written, version))) is None


@given(st.binary(max_size=60) | st.tuples(st.integers(0, 5), st.binary(max_size=40)))
def test_a_value_is_readable_if_it_can_be_decoded(data: bytes | tuple[int, bytes]) -> None:
    found = data if isinstance(data, bytes) else data[0].to_bytes(2, "big") + data[1]
    try:
        read_committed(found)
    except (struct.error, ProtocolError):
        assert unreadable(found)
    else:
        assert unreadable(found) is None


def test_metadata_that_is_no_utf8_is_unreadable() -> None:
    damaged = bytearray(committed_bytes(Committed(5, -1, "ab", 9, NO_EXPIRY)))
    damaged[-10:-8] = b"\xc3\x28"
    assert "UTF-8" in (unreadable(bytes(damaged)) or "")
