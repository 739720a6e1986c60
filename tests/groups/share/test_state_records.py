"""The records of __share_group_state, as Kafka writes and reads them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.share.record_range import StoredRange
from groups.share.state_records import (
    ShareKey,
    Snapshot,
    Update,
    decode_state,
    encode_deletion,
    encode_snapshot,
    encode_update,
    kafka_id,
    state_partition,
)
from groups.share.states import RecordState
from protocol.errors import Malformed, UnsupportedVersion

KEY = ShareKey("g", UUID("00112233-4455-6677-8899-aabbccddeeff"), 3)

SNAPSHOT = Snapshot(
    1, 2, 3, 100, 6, 1700000000000, 1700000000001, [StoredRange(101, 106, RecordState.ACKNOWLEDGED, 1)]
)

UPDATE = Update(1, 3, -1, 6, [StoredRange(107, 107, RecordState.ARCHIVED, 5)])

ID = "00112233445566778899aabbccddeeff"


def test_a_snapshot_has_kafkas_bytes() -> None:
    key, value = encode_snapshot(KEY, SNAPSHOT)
    assert value is not None
    assert key.hex() == f"0000000167{ID}00000003"
    assert value.hex() == (
        "000000000001000000020000000300000000000000640000018bcfe568000000018bcfe56801020000000000000065"
        "000000000000006a0200010001000400000006"
    )


def test_a_change_has_kafkas_bytes() -> None:
    key, value = encode_update(KEY, UPDATE)
    assert value is not None
    assert key.hex() == f"0001000167{ID}00000003"
    assert value.hex() == (
        "00000000000100000003ffffffffffffffff02000000000000006b000000000000006b0400050001000400000006"
    )


def test_what_is_encoded_is_decoded() -> None:
    assert decode_state(*encode_snapshot(KEY, SNAPSHOT)) == (KEY, SNAPSHOT)
    assert decode_state(*encode_update(KEY, UPDATE)) == (KEY, UPDATE)
    assert decode_state(*encode_deletion(KEY)) == (KEY, None)


def test_a_cause_is_kept_under_a_tag_that_kafka_skips() -> None:
    waiting = StoredRange(107, 107, RecordState.ARCHIVING, 5, "limit")
    update = Update(1, 3, -1, 6, [waiting, waiting._replace(first=108, last=109, cause="")])
    key, value = encode_update(KEY, update)
    assert decode_state(key, value) == (KEY, update)
    assert value is not None
    assert b"\x01\x90\x4e\x06\x06limit" in value, "one tag, 10000, of 6 bytes: a compact string"


def test_records_of_later_kinds_are_left_alone() -> None:
    assert decode_state(b"\0\7anything", b"\0\0") is None


@pytest.mark.parametrize(
    "ranges",
    [
        [StoredRange(5, 4, RecordState.AVAILABLE, 1)],
        [StoredRange(5, 6, RecordState.AVAILABLE, 1), StoredRange(6, 7, RecordState.AVAILABLE, 2)],
        [StoredRange(5, 6, RecordState.ACQUIRED, 1)],
    ],
)
def test_ranges_that_cannot_be_are_malformed(ranges: list[StoredRange]) -> None:
    with pytest.raises(Malformed):
        decode_state(*encode_update(KEY, UPDATE._replace(ranges=ranges)))


@pytest.mark.parametrize(("key", "value"), [(b"", b""), (b"\0\0", b""), (encode_deletion(KEY)[0], b"\0")])
def test_a_cut_record_is_malformed(key: bytes, value: bytes) -> None:
    with pytest.raises(Malformed):
        decode_state(key, value)


def test_a_value_of_a_later_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersion):
        decode_state(encode_deletion(KEY)[0], b"\0\7")


def test_a_share_partition_lies_where_kafka_looks_for_it() -> None:
    """Java: Utils.abs("g:ABEiM0RVZneImaq7zN3u_w:3".hashCode()) % 50."""
    assert kafka_id(KEY.topic_id) == "ABEiM0RVZneImaq7zN3u_w"
    value = 0
    for letter in "g:ABEiM0RVZneImaq7zN3u_w:3":
        value = (31 * value + ord(letter)) % 2**32
    signed = value - 2**32 if value >= 2**31 else value
    assert state_partition(KEY, 50) == abs(signed) % 50


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_are_decoded_or_refused(key: bytes, value: bytes) -> None:
    for kind in (b"\0\0", b"\0\1"):
        try:
            decode_state(kind + key, b"\0\0" + value)
        except (Malformed, UnsupportedVersion):
            continue
