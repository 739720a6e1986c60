"""Serialised schemas of Protobuf."""

from __future__ import annotations

import pytest

from registry.descriptors import Descriptors, FieldSchema
from registry.errors import SchemaProblem
from tests.registry.descriptors import field, file, message, part


def test_messages_inside_messages_have_full_names() -> None:
    known = Descriptors()
    inner = message("Item", field(1, "name", 9))
    outermost = known.add(file(message("Order", part(3, inner), field(1, "item", 11, ".shop.Order.Item"))))
    assert outermost == ("shop.Order",)
    assert known.messages["shop.Order"].nested == ("shop.Order.Item",)
    assert known.messages["shop.Order"].fields == (
        FieldSchema(1, "item", 11, "shop.Order.Item", False, True),
    )


def test_absence_counts_in_proto2_alone() -> None:
    for syntax, has_presence in (("proto3", False), ("proto2", True), ("", True)):
        known = Descriptors()
        known.add(file(message("A", field(1, "x", 5)), syntax=syntax, package=""))
        assert known.messages["A"].fields[0].has_presence == has_presence


def test_of_two_names_of_a_number_the_first_counts() -> None:
    known = Descriptors()
    values = b"".join(part(2, part(1, name) + part(2, 1)) for name in ("TEA", "CHAI"))
    known.add(file() + part(5, part(1, "Kind") + values))
    assert known.enums == {"shop.Kind": {1: "TEA"}}


@pytest.mark.parametrize("data", [b"\xff", part(4, b"\xff"), part(2, b"\xff"), part(12, 5), part(4, 5)])
def test_what_is_no_descriptor_is_told(data: bytes) -> None:
    with pytest.raises(SchemaProblem, match="no FileDescriptorProto"):
        Descriptors().add(data)


def test_a_schema_of_too_many_fields_is_refused() -> None:
    fields = field(1, "x", 5) * 100_001
    with pytest.raises(SchemaProblem, match="more than 100000 fields"):
        Descriptors().add(file(message("A", fields)))
