"""Types by their names, and the values that fit them."""

from __future__ import annotations

import pytest

from views.column_types import (
    BOOL,
    DOUBLE,
    INT,
    JSON,
    STRING,
    TIMESTAMP_MS,
    TYPE_NAMES,
    Kind,
    parse_type,
)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("tinyint", -128, 127),
        ("smallint", -32_768, 32_767),
        ("int", -(2**31), 2**31 - 1),
        ("bigint", -(2**63), 2**63 - 1),
        ("tinyint unsigned", 0, 255),
        ("int unsigned", 0, 2**32 - 1),
        ("bigint unsigned", 0, 2**63 - 1),
    ],
)
def test_integers_have_their_ranges(name: str, low: int, high: int) -> None:
    kind = parse_type(name)
    assert kind is not None
    assert (kind.kind, kind.low, kind.high, kind.is_number) == (Kind.INT, low, high, True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BOOLEAN", BOOL),
        ("Integer", INT),
        ("double", DOUBLE),
        ("text", STRING),
        ("varchar", STRING),
        ("any", JSON),
        ("timestamp", TIMESTAMP_MS),
        ("timestamp(ms)", TIMESTAMP_MS),
    ],
)
def test_other_names_mean_the_same(name: str, kind: object) -> None:
    assert parse_type(name) == kind


def test_units_of_timestamps_are_kept() -> None:
    for unit, nanoseconds in (("ms", 1_000_000), ("us", 1_000), ("ns", 1)):
        kind = parse_type(f"timestamp({unit})")
        assert kind is not None
        assert (kind.unit, kind.unit_ns, str(kind)) == (unit, nanoseconds, f"timestamp({unit})")


def test_every_name_that_messages_list_is_known() -> None:
    for name in TYPE_NAMES.replace(" (each also unsigned)", "").replace("(n)", "(9)").split(", "):
        kind = parse_type(name)
        assert kind is not None, name
        assert parse_type(str(kind)) == kind


@pytest.mark.parametrize(
    "name", ["", "integer unsigned", "varchar(٣)", "double(3)", "null", "duration", "int(11)"]
)
def test_other_names_are_no_types(name: str) -> None:
    assert parse_type(name) is None
