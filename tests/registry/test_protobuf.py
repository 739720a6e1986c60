"""Protobuf's values as JSON.

`order.json` has a schema with every type and values of it, made by protobuf for Python; the JSON was compared
with that of its `json_format`, which differs in 64-bit integers alone: there they are text.
"""

from __future__ import annotations

import json
from base64 import b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import NotOfSchema, SchemaProblem
from registry.protobuf import ProtobufReader
from tests.registry.descriptors import field, file, message, part

ORDER = json.loads((Path(__file__).parent / "order.json").read_text())
READER = ProtobufReader(b64decode(ORDER["file"]))
TREE = ProtobufReader(
    file(
        message("Leaf", *(field(at, f"f{at}", 5) for at in range(1, 500))),
        message(
            "Tree", field(1, "tree", 11, ".shop.Tree"), field(2, "leaves", 11, ".shop.Leaf", repeated=True)
        ),
    )
)


@pytest.mark.parametrize(("data", "value"), ORDER["cases"])
def test_every_type_is_read_as_protobufs_own_library_does(data: str, value: Any) -> None:
    assert READER.read(b"\x02\x02" + bytes.fromhex(data)) == value


def test_the_first_message_needs_one_byte_and_an_inner_one_its_path() -> None:
    inner = message("Item", field(1, "name", 9))
    reader = ProtobufReader(file(message("Order", field(1, "id", 5), part(3, inner))))
    assert reader.read(b"\0" + part(1, 7)) == {"id": 7}
    assert reader.read(b"\x04\0\0" + part(1, "tea")) == {"name": "tea"}


def test_a_message_may_be_in_another_file() -> None:
    item = file(message("Item", field(1, "name", 9)))
    order = file(message("Order", field(1, "item", 11, ".shop.Item")))
    assert ProtobufReader(order, [item]).read(b"\0" + part(1, part(1, "tea"))) == {"item": {"name": "tea"}}
    with pytest.raises(SchemaProblem, match=r"the message 'shop\.Item' is not in the schema"):
        ProtobufReader(order).read(b"\0" + part(1, b""))


def test_unknown_fields_are_passed_over_and_parts_of_a_message_are_merged() -> None:
    assert READER.read(b"\0" + part(99, "x") + part(1, 5)) == {"x": 5}
    tree = part(1, part(2, part(1, 5))) + part(1, part(2, part(2, 6)))
    found = TREE.read(b"\x02\x02" + tree)
    assert [(leaf["f1"], leaf["f2"]) for leaf in found["tree"]["leaves"]] == [(5, 0), (0, 6)]


def test_numbers_are_read_packed_or_one_by_one() -> None:
    reader = ProtobufReader(file(message("A", field(1, "x", 5, repeated=True))))
    assert reader.read(b"\0" + part(1, 1) + part(1, b"\2\3") + part(1, 4)) == {"x": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("reader", "data", "sentence"),
    [
        (READER, b"", "a number is cut"),
        (READER, b"\x02\x06", "there is no message 3 of 2"),
        (READER, b"\x01", "the message is -1 levels deep"),
        (READER, b"\xd0\x0f", "the message is 1000 levels deep"),
        (READER, b"\x02\x02" + part(9, b"\xff"), "utf-8"),
        (TREE, b"\0\xff", "a number is cut"),
    ],
)
def test_what_is_not_of_its_schema_is_told(reader: ProtobufReader, data: bytes, sentence: str) -> None:
    with pytest.raises(NotOfSchema, match=sentence):
        reader.read(data)


def test_nesting_has_a_limit() -> None:
    def nested(depth: int) -> bytes:
        data = b""
        for _ in range(depth):
            data = part(1, data)
        return b"\x02\x02" + data

    assert TREE.read(nested(100))
    with pytest.raises(NotOfSchema, match="deeper than 100"):
        TREE.read(nested(101))


def test_two_bytes_do_not_stand_for_hundreds_of_fields_again_and_again() -> None:
    with pytest.raises(NotOfSchema, match="more fields than its length should have"):
        TREE.read(b"\x02\x02" + part(2, b"") * 100_000)


def test_groups_are_told() -> None:
    reader = ProtobufReader(file(message("A", field(1, "g", 10)), syntax="proto2"))
    with pytest.raises(SchemaProblem, match="the field 'g' has the type 10, which is not read"):
        reader.read(b"\0" + part(1, 5))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    with suppress(NotOfSchema):
        json.dumps(READER.read(b"\x02\x02" + data), allow_nan=False)
