"""Tests of groups/offset_values.py."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.offset_values import (
    NO_EXPIRY,
    Committed,
    committed_bytes,
    id_if_plain,
    is_of_another,
    may_expire,
    read_committed,
    unreadable,
)
from groups.record_schemas import OffsetCommitValue
from protocol.errors import ProtocolError
from protocol.wire import ZERO_UUID, decode, encode, joined

ID, OTHER_ID = UUID("00112233-4455-6677-8899-aabbccddeeff"), UUID(int=7)

values = st.builds(
    Committed,
    offset=st.integers(0, 2**62),
    leader_epoch=st.integers(-1, 9),
    metadata=st.text(max_size=5) | st.integers(120, 140).map("m".__mul__),
    commit_ms=st.integers(0, 2**40),
    expire_ms=st.just(NO_EXPIRY) | st.integers(0, 2**40),
)
ids = st.just(ZERO_UUID) | st.uuids()


def by_codec(value: OffsetCommitValue, version: int) -> bytes:
    return version.to_bytes(2, "big") + joined(encode(value, version))


@given(values, ids)
def test_what_is_written_by_hand_is_what_the_codec_writes(committed: Committed, topic_id: UUID) -> None:
    declared = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        topic_id=topic_id,
        expires=committed.expire_ms,
    )
    assert committed_bytes(committed, topic_id) == by_codec(declared, 4)


@given(values, ids)
def test_an_offset_survives_its_record(committed: Committed, topic_id: UUID) -> None:
    assert read_committed(committed_bytes(committed, topic_id)) == committed


def test_an_offset_is_written_as_kafka_writes_it() -> None:
    written = committed_bytes(Committed(1234567890123, 5, "m\xe9ta", 1700000000000, NO_EXPIRY), ID)
    kafkas = "00040000011f71fb04cb00000005066dc3a974610000018bcfe5680001001000112233445566778899aabbccddeeff"
    assert written.hex() == kafkas


def test_every_version_that_kafka_wrote_is_read() -> None:
    for version in range(5):
        data = by_codec(OffsetCommitValue(offset=5, metadata="m", commit_timestamp=9), version)
        assert read_committed(data) == Committed(5, -1, "m", 9, NO_EXPIRY)
    data = by_codec(OffsetCommitValue(offset=5, metadata="m", commit_timestamp=9, expire_timestamp=7), 1)
    assert read_committed(data).expire_ms == 7


@given(values, ids)
def test_the_topic_of_an_offset_is_known_by_its_id(committed: Committed, topic_id: UUID) -> None:
    value = committed_bytes(committed, topic_id)
    assert not is_of_another(value, topic_id)
    assert is_of_another(value, OTHER_ID) == (topic_id not in (ZERO_UUID, OTHER_ID))


@pytest.mark.parametrize("version", range(5))
def test_an_offset_without_an_id_is_of_any_topic(version: int) -> None:
    written = OffsetCommitValue(offset=5, metadata="m" * 30, commit_timestamp=9)
    assert not is_of_another(by_codec(written, version), OTHER_ID)


def test_metadata_cannot_pass_for_an_id() -> None:
    written = OffsetCommitValue(offset=5, metadata="\1\0\x10" + "x" * 7, commit_timestamp=0)
    assert not is_of_another(by_codec(written, 4), OTHER_ID)
    assert not id_if_plain(by_codec(written, 4))


@given(values, ids)
def test_an_offset_that_expires_is_found(committed: Committed, topic_id: UUID) -> None:
    value = committed_bytes(committed, topic_id)
    assert may_expire(value) or committed.expire_ms == NO_EXPIRY
    assert not may_expire(committed_bytes(committed._replace(expire_ms=NO_EXPIRY), ID))
    old = OffsetCommitValue(offset=5, metadata="", commit_timestamp=9, expire_timestamp=5)
    assert may_expire(by_codec(old, 1))


@given(values, st.integers(0, 4))
def test_every_value_that_can_be_read_is_readable(committed: Committed, version: int) -> None:
    written = OffsetCommitValue(
        offset=committed.offset, metadata=committed.metadata, commit_timestamp=committed.commit_ms
    )
    assert unreadable(by_codec(written, version)) is None
    assert unreadable(committed_bytes(committed, ID)) is None


mutations = st.tuples(values, st.integers(0, 200), st.binary(max_size=4), st.integers(0, 3)).map(
    lambda of: (data := committed_bytes(of[0], ID))[: of[1]] + of[2] + data[of[1] + of[3] :]
)


@given(st.binary(max_size=60) | st.tuples(st.integers(0, 5), st.binary(max_size=40)) | mutations)
def test_a_value_is_readable_if_it_can_be_decoded(data: bytes | tuple[int, bytes]) -> None:
    value = data if isinstance(data, bytes) else data[0].to_bytes(2, "big") + data[1]
    try:
        found, _ = decode(OffsetCommitValue, int.from_bytes(value[:2], "big", signed=True), value, 2)
    except (struct.error, ProtocolError):
        assert unreadable(value)
        return
    assert unreadable(value) is None
    declared = (found.offset, found.leader_epoch, found.metadata, found.commit_timestamp)
    assert read_committed(value)[:4] == declared
    assert is_of_another(value, OTHER_ID) == (found.topic_id not in (ZERO_UUID, OTHER_ID))


def test_metadata_that_is_no_utf8_is_unreadable() -> None:
    damaged = committed_bytes(Committed(5, -1, "ab", 9, NO_EXPIRY), ID).replace(b"ab", b"\xc3\x28")
    assert "UTF-8" in (unreadable(damaged) or "")
