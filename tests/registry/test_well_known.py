"""Protobuf's well-known types as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from registry.errors import NotOfSchema
from registry.well_known import MESSAGES, SHAPES


def shaped(name: str, **fields: Any) -> Any:
    return SHAPES[f"google.protobuf.{name}"](fields)


@pytest.mark.parametrize(
    ("seconds", "nanos", "text"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (1, 500_000_000, "1970-01-01T00:00:01.500Z"),
        (-1, 1, "1969-12-31T23:59:59.000000001Z"),
        (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
    ],
)
def test_a_timestamp_is_a_time(seconds: int, nanos: int, text: str) -> None:
    assert shaped("Timestamp", seconds=seconds, nanos=nanos) == text


def test_a_duration_is_seconds() -> None:
    assert shaped("Duration", seconds=0, nanos=-1_000) == "-0.000001s"
    assert shaped("Duration", seconds=3, nanos=0) == "3s"


@pytest.mark.parametrize(
    ("name", "seconds", "nanos"),
    [("Timestamp", 1 << 50, 0), ("Timestamp", 0, -1), ("Duration", 1 << 50, 0), ("Duration", 1, -1)],
)
def test_what_no_time_is_is_told(name: str, seconds: int, nanos: int) -> None:
    with pytest.raises(NotOfSchema):
        shaped(name, seconds=seconds, nanos=nanos)


def test_every_shape_is_of_a_message() -> None:
    assert set(SHAPES) <= set(MESSAGES)
    assert shaped("FieldMask", paths=["a", "b"]) == "a,b"
    assert shaped("Value") is None
