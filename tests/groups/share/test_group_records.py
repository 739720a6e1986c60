"""The records of share groups in __consumer_offsets, as Kafka writes and reads them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.record_keys import GroupEpoch, TargetEpoch
from groups.share.group_records import (
    InitializedTopic,
    ShareCurrent,
    ShareCurrentKey,
    ShareEpochKey,
    ShareGroupKey,
    ShareMember,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetEpochKey,
    ShareTargetKey,
    decode_share_record,
    encode_share_record,
)
from protocol.errors import Malformed, UnsupportedVersion

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")

ID = "00112233445566778899aabbccddeeff"

ASSIGNMENT = {TOPIC_ID: frozenset({0, 2})}

GOLDEN: list[tuple[ShareGroupKey, Any, str, str]] = [
    (
        ShareMemberKey("g", "m"),
        ShareMember("c", "/h", ("a", "b"), "r"),
        "000a00016700016d",
        "000002720263032f68030261026200",
    ),
    (ShareMemberKey("g", "m"), ShareMember("c", "/h", ()), "000a00016700016d", "0000000263032f680100"),
    (ShareEpochKey("g"), GroupEpoch(5, 77), "000b000167", "000000000005000000000000004d00"),
    (
        ShareTargetEpochKey("g"),
        TargetEpoch(5, 1700000000000),
        "000c000167",
        "0000000000050100080000018bcfe56800",
    ),
    (ShareTargetKey("g", "m"), ASSIGNMENT, "000d00016700016d", f"000002{ID}0300000000000000020000"),
    (
        ShareCurrentKey("g", "m"),
        ShareCurrent(5, 4, ASSIGNMENT),
        "000e00016700016d",
        f"000000000005000000040002{ID}0300000000000000020000",
    ),
]


@pytest.mark.parametrize(("key", "value", "key_bytes", "value_bytes"), GOLDEN)
def test_kafkas_bytes_are_read_and_written(
    key: ShareGroupKey, value: Any, key_bytes: str, value_bytes: str
) -> None:
    encoded = encode_share_record(key, value)
    assert encoded == (bytes.fromhex(key_bytes), bytes.fromhex(value_bytes))
    assert decode_share_record(*encoded) == (key, value)
    assert decode_share_record(*encode_share_record(key, None)) == (key, None)


def test_of_kafkas_states_only_those_that_exist_are_read() -> None:
    key, value = ShareStatesKey("g"), {TOPIC_ID: InitializedTopic("a", frozenset({0}))}
    # Partition 1 is being initialized, 0 is so, and the topic "b" is being deleted.
    kafkas = bytes.fromhex(f"000002{ID}026102000000010002{ID}026102000000000002{ID}02620000")
    assert decode_share_record(bytes.fromhex("000f000167"), kafkas) == (key, value)
    assert decode_share_record(*encode_share_record(key, value)) == (key, value)


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 5, 6, 7, 8, 9, 16, 17])
def test_records_of_other_groups_are_left_alone(kind: int) -> None:
    assert decode_share_record(kind.to_bytes(2, "big") + b"\0\1g", b"") is None


@given(st.integers(10, 15), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(kind: int, key: bytes, value: bytes) -> None:
    try:
        decode_share_record(kind.to_bytes(2, "big") + key, value)
    except (Malformed, UnsupportedVersion):
        return
