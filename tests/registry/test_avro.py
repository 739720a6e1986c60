"""Avro's binary encoding, by the examples of its specification and by every kind of schema."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.avro import AvroReader
from registry.errors import NotOfSchema, SchemaProblem


def long(number: int) -> bytes:
    """Return a zigzag varint."""
    number = (number << 1) ^ (number >> 63)
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def text(data: str) -> bytes:
    return long(len(data.encode())) + data.encode()


RECORD = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "item", "type": "string"},
        {"name": "count", "type": ["null", "int"]},
        {"name": "next", "type": ["null", "Order"]},
    ],
}


def wide(depth: int) -> dict[str, Any]:
    """Return a record of ten records of ten records…: without a byte, it has 10**depth fields."""
    fields = [{"name": f"f{at}", "type": "null" if depth == 0 else wide(depth - 1)} for at in range(10)]
    return {"type": "record", "name": f"W{depth}", "fields": fields}


WIDE = wide(4)


@pytest.mark.parametrize(
    ("schema", "data", "value"),
    [
        ("null", b"", None),
        ("boolean", b"\x01", True),
        ("int", b"\x7f", -64),
        ("long", b"\x80\x01", 64),
        ("float", struct.pack("<f", 1.5), 1.5),
        ("double", struct.pack("<d", -2.25), -2.25),
        ("bytes", b"\x04\x00\xff", "\x00\xff"),
        ("string", b"\x06foo", "foo"),
        ({"type": "array", "items": "long"}, b"\x04\x06\x36\x00", [3, 27]),
        ({"type": "array", "items": "long"}, long(-2) + long(2) + b"\x06\x36\x00", [3, 27]),
        ({"type": "map", "values": "int"}, long(1) + text("a") + long(5) + b"\0", {"a": 5}),
        (["null", "string"], b"\x02\x02a", "a"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, b"\x02", "B"),
        ({"type": "fixed", "name": "F", "size": 2}, b"\x01\xfe", "\x01\xfe"),
        ({"type": "int", "logicalType": "date"}, long(1), "1970-01-02"),
        ({"type": "long", "logicalType": "timestamp-millis"}, long(1500), "1970-01-01T00:00:01.500000Z"),
        ({"type": "long", "logicalType": "timestamp-micros"}, long(0), "1970-01-01T00:00:00Z"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, b"\x04\xff\x85", "-1.23"),
        (
            {"type": "bytes", "logicalType": "decimal", "scale": 3},
            long(16) + (10**37 + 1).to_bytes(16, "big"),
            "1" + "0" * 34 + ".001",
        ),
        ({"type": "string", "logicalType": "uuid"}, b"\x02u", "u"),
        ("double", struct.pack("<d", float("nan")), "NaN"),
        ("float", struct.pack("<f", float("-inf")), "-Infinity"),
        (
            RECORD,
            text("tea") + b"\x02" + long(5) + b"\x02" + text("milk") + b"\x00\x00",
            {"item": "tea", "count": 5, "next": {"item": "milk", "count": None, "next": None}},
        ),
    ],
)
def test_a_value_is_read_by_its_schema(schema: Any, data: bytes, value: Any) -> None:
    assert AvroReader(schema).read(data) == value


def test_a_type_may_be_in_another_schema() -> None:
    reader = AvroReader({"type": "array", "items": "shop.Order"}, [RECORD])
    assert reader.read(b"\x02" + text("tea") + b"\0\0\0") == [{"item": "tea", "count": None, "next": None}]


@pytest.mark.parametrize(
    ("schema", "data", "sentence"),
    [
        ("string", b"\x06fo", "3 bytes are wanted at byte 1 of 3"),
        ("string", b"\x02\xff", "byte 2: 'utf-8' codec"),
        ("int", b"\x02x", "1 bytes follow the value"),
        ("long", b"\xff" * 11, "a number at byte 10 does not end"),
        (["null"], b"\x02", "there is no part 1 of 1"),
        ({"type": "array", "items": "null"}, long(1 << 40), "more fields and items than"),
        ({"type": "array", "items": "null"}, 5000 * long(200) + b"\0", "more fields and items than"),
        (WIDE, b"", "more fields and items than 0 bytes"),
        ("long", b"\xff" * 9 + b"\x7f", "more than 64 bits"),
        ({"type": "bytes", "logicalType": "decimal"}, long(2000) + b"\x7f" * 2000, "is too long"),
        ("gone", b"", "the type 'gone' is not in the schema"),
        ({"type": "long", "logicalType": "timestamp-millis"}, long(2**62), "byte 10: "),
    ],
)
def test_what_is_not_of_its_schema_is_told(schema: Any, data: bytes, sentence: str) -> None:
    with pytest.raises(NotOfSchema, match=sentence):
        AvroReader(schema).read(data)


@pytest.mark.parametrize("schema", [5, {}, {"items": "int"}])
def test_what_is_no_schema_is_told(schema: Any) -> None:
    with pytest.raises(SchemaProblem, match="is no schema"):
        AvroReader(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "record"},
        {"type": "record", "name": 5, "fields": []},
        {"type": "fixed", "name": "F", "size": None},
        {"type": "record", "name": "R", "fields": [{"type": "int"}]},
        {"type": "bytes", "logicalType": "decimal", "scale": -1},
    ],
)
def test_a_schema_that_lacks_something_is_told(schema: Any) -> None:
    with pytest.raises(SchemaProblem):
        AvroReader(schema)


def test_a_type_that_needs_itself_is_not_read_for_ever() -> None:
    reader = AvroReader({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]})
    with pytest.raises(NotOfSchema):
        reader.read(b"")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    for schema in (RECORD, {"type": "map", "values": {"type": "array", "items": "double"}}):
        with suppress(NotOfSchema):
            AvroReader(schema).read(data)
