"""Varints, UUIDs, tagged fields and payloads, at and beyond their limits."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import primitives
from protocol.errors import Malformed
from protocol.primitives import (
    JOINED_SIZE_MAX,
    STRING_SIZE_MAX,
    RecordParts,
    bad_string,
    put_records,
    read_tags,
    read_uvarint,
    uuid_of,
    write_compact_strings,
    write_strings,
    write_tags,
    write_uvarint,
)
from protocol.schema import NO_TAGS


def uvarint(value: int) -> bytes:
    out = bytearray()
    write_uvarint(out, value)
    return bytes(out)


@given(st.integers(0, 2**32 - 1))
def test_uvarints_are_read_back(value: int) -> None:
    data = b"--" + uvarint(value) + b"-"
    assert read_uvarint(memoryview(data), 2, "x") == (value, len(data) - 1)


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (16_383, "ff7f"), (16_384, "808001"), (2**32 - 1, "ffffffff0f")],
)
def test_uvarints_are_seven_bits_a_byte_lowest_first(value: int, data: str) -> None:
    assert uvarint(value).hex() == data


def test_uvarint_longer_than_needed_is_accepted_as_kafka_does() -> None:
    assert read_uvarint(memoryview(b"\x81\x80\x80\x80\x00"), 0, "x") == (1, 5)


@pytest.mark.parametrize("data", ["ffffffff10", "ffffffff80", "ffffffffff01", "80" * 100])
def test_uvarint_of_more_than_32_bits_is_malformed_after_five_bytes(data: str) -> None:
    with pytest.raises(Malformed, match="more than 32 bits") as caught:
        read_uvarint(memoryview(bytes.fromhex(data)), 0, "x")
    assert caught.value.position == 4


@pytest.mark.parametrize("data", ["", "80", "8080", "808080", "80808080"])
def test_uvarint_cut_short_is_malformed_where_the_input_ends(data: str) -> None:
    with pytest.raises(Malformed, match="needs 1 more bytes; 0 are left") as caught:
        read_uvarint(memoryview(bytes.fromhex(data)), 0, "x")
    assert caught.value.position == len(data) // 2


@given(st.binary(min_size=16, max_size=16))
def test_uuids_are_those_of_the_standard_library(raw: bytes) -> None:
    found = uuid_of(raw)
    assert found == UUID(bytes=raw)
    assert str(found) == str(UUID(bytes=raw))
    assert found.bytes == raw
    assert uuid_of(raw) is found


def test_known_uuids_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primitives, "_UUIDS", {})
    monkeypatch.setattr(primitives, "_UUIDS_MAX", 10)
    for number in range(25):
        assert uuid_of(number.to_bytes(16, "big")).int == number
        assert len(primitives._UUIDS) <= 10


class Target:
    """A target for tagged fields."""

    unknown_tags = NO_TAGS
    colour = ""


def tags_of(data: str, count: int, left: int = 100) -> tuple[Target, int, int]:
    """Read tagged fields into a target that knows tag 3, a colour of one byte."""
    target = Target()
    known = {3: ("colour", lambda data, position, left: (chr(data[position]), position + 1, left - 1))}
    position, left = read_tags(
        memoryview(bytes.fromhex(data)),
        0,
        count,
        left,
        target=target,
        known=known,
        path="X",
        elements_max=100,
    )
    return target, position, left


def test_known_tags_become_attributes_and_others_are_kept() -> None:
    target, position, left = tags_of("01 02 aabb 03 01 72 80 01 00", 3)
    assert (target.colour, dict(target.unknown_tags)) == ("r", {1: b"\xaa\xbb", 128: b""})
    assert (position, left) == (10, 100 - 3 - 1)


def test_without_unknown_tags_the_shared_mapping_stays() -> None:
    assert tags_of("03 01 72", 1)[0].unknown_tags is NO_TAGS


@pytest.mark.parametrize(
    ("data", "count", "problem"),
    [
        ("01 00 01 00", 2, "tag 1 after tag 1; they must ascend"),
        ("02 00 01 00", 2, "tag 1 after tag 2; they must ascend"),
        ("01 05 aabb", 1, "claims 5 bytes; 2 are left"),
        ("01 ff ff ff ff 0f", 1, "claims 4294967295 bytes; 0 are left"),
        ("03 02 72 73", 1, "takes 1 bytes; its tag announces 2"),
        ("03 00 72", 1, "takes 1 bytes; its tag announces 0"),
        ("01", 1, "needs 1 more bytes"),
        ("", 1, "needs 1 more bytes"),
        ("", 65, "claims 65 tagged fields; at most 64"),
        ("", 4_294_967_295, "at most 64"),
    ],
)
def test_bad_tags_are_malformed(data: str, count: int, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        tags_of(data, count)


def test_tags_count_as_elements() -> None:
    with pytest.raises(Malformed, match="above 100 elements"):
        tags_of("01 00 02 00", 2, left=1)


def test_tags_are_written_in_ascending_order() -> None:
    out = bytearray()
    write_tags(out, {128: b"", 1: b"\xaa\xbb"})
    assert out.hex(" ") == "02 01 02 aa bb 80 01 00"


def test_small_payloads_are_joined_and_large_ones_passed_on_uncopied() -> None:
    buffers: list[primitives.Buffer] = [bytearray(b"head")]
    small, large = bytes(JOINED_SIZE_MAX), bytes(JOINED_SIZE_MAX + 1)
    assert put_records(buffers, small) is buffers[0]
    out = put_records(buffers, large)
    assert len(buffers) == 3
    assert buffers[1] is large
    assert buffers[2] is out


def test_record_parts_are_passed_on_one_by_one() -> None:
    buffers: list[primitives.Buffer] = [bytearray(b"head")]
    parts = [b"small", bytes(5_000)]
    put_records(buffers, RecordParts(parts, 5_005))
    assert buffers[1] is parts[0]
    assert buffers[2] is parts[1]
    assert repr(RecordParts(parts, 5_005)) == "RecordParts(2 parts, 5005 bytes)"


def test_no_parts_need_no_buffer() -> None:
    buffers: list[primitives.Buffer] = [bytearray(b"head")]
    assert put_records(buffers, RecordParts([], 0)) is buffers[0]


def test_complaint_about_a_string_names_its_limit_first() -> None:
    assert "at most 32767" in bad_string(0, "x", 32_768, 5).problem
    assert bad_string(0, "x", 32_767, 5).problem == "claims 32767 bytes; 5 are left"
    assert bad_string(0, "x", -1, 5).problem == "is null where a value is required"
    assert bad_string(0, "x", -2, 5).problem == "has length -2"


@given(st.lists(st.text(max_size=200)))
def test_many_strings_are_written_as_one_after_the_other(texts: list[str]) -> None:
    plain, compact = bytearray(b"before"), bytearray(b"before")
    write_strings(plain, texts)
    write_compact_strings(compact, texts)
    data = [text.encode() for text in texts]
    assert plain == b"before" + b"".join(len(text).to_bytes(2, "big") + text for text in data)
    assert compact == b"before" + b"".join(uvarint(len(text) + 1) + text for text in data)


@pytest.mark.parametrize("size", [0, 126, 127, 128, STRING_SIZE_MAX])
def test_a_string_of_any_allowed_size_is_written_among_others(size: int) -> None:
    out = bytearray()
    write_compact_strings(out, ["a", "x" * size])
    assert out == b"\x02a" + uvarint(size + 1) + b"x" * size


def test_strings_that_are_too_long_and_what_is_no_string_are_refused() -> None:
    for text in ("x" * (STRING_SIZE_MAX + 1), None, b"bytes"):
        with pytest.raises((struct.error, TypeError)):
            write_strings(bytearray(), ["a", text])  # type: ignore[list-item]
        with pytest.raises(TypeError):
            write_compact_strings(bytearray(), ["a", text])  # type: ignore[list-item]
