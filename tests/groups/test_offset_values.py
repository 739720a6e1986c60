"""Tests of groups/offset_values.py."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from groups.offset_values import NO_EXPIRY, Committed, committed_bytes, read_committed, unreadable
from groups.record_schemas import OffsetCommitValue
from protocol.errors import ProtocolError
from protocol.wire import encode, joined

values = st.builds(
    Committed,
    offset=st.integers(0, 2**62),
    leader_epoch=st.just(-1),
    metadata=st.text(max_size=5),
    commit_ms=st.integers(0, 2**40),
    expire_ms=st.just(NO_EXPIRY) | st.integers(0, 2**40),
)


@given(values)
def test_an_offset_survives_its_record(committed: Committed) -> None:
    assert read_committed(committed_bytes(committed)) == committed


def test_a_leader_epoch_is_kept_where_there_is_no_expiry_time() -> None:
    assert read_committed(committed_bytes(Committed(5, 7, "m", 9, NO_EXPIRY))).leader_epoch == 7


def test_offsets_are_written_as_version_3_and_with_an_expiry_time_as_version_1() -> None:
    assert committed_bytes(Committed(1, -1, "", 1, NO_EXPIRY))[:2] == b"\0\3"
    assert committed_bytes(Committed(1, -1, "", 1, 5))[:2] == b"\0\1"


def test_every_version_that_kafka_wrote_is_read() -> None:
    for version in range(5):
        written = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=9)
        data = version.to_bytes(2, "big") + joined(encode(written, version))
        assert read_committed(data) == Committed(5, -1, "m", 9, NO_EXPIRY)


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
