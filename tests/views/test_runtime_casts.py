"""Casts: the pairs that have a meaning, and that none of them raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from views.column_types import Type, parse_type
from views.runtime_casts import cast_function

NAMES = [
    "bool",
    "tinyint",
    "bigint",
    "bigint unsigned",
    "double",
    "string",
    "varchar(3)",
    "timestamp",
    "timestamp(ns)",
    "json",
]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "bigint unsigned": st.integers(0, 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(max_size=10) | st.from_regex(r"\A ?[+-]?[0-9]{0,25}\.?[0-9]{0,5}(e[0-9]{1,4})?\Z"),
    "varchar(3)": st.text(max_size=3),
    "timestamp": st.integers(-(2**63), 2**63 - 1),
    "timestamp(ns)": st.integers(-(2**63), 2**63 - 1),
    "json": st.sampled_from([b"1", b"1.5e300", b'"x"', b'"1"', b"true", b"{}", b"[1]", b'"1970-01-01"']),
}
WITHOUT_MEANING = {
    ("timestamp", "bool"),
    ("timestamp", "double"),
    ("bool", "timestamp"),
    ("double", "timestamp"),
}


def kind_of(name: str) -> Type:
    found = parse_type(name)
    assert found is not None
    return found


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", [name for name in NAMES if name != "json"])
def test_a_cast_gives_a_value_of_its_type_or_none(source: str, target: str) -> None:
    kind = kind_of(target)
    function = cast_function(kind_of(source), kind)
    without = (source.split("(")[0], target.split("(")[0]) in WITHOUT_MEANING
    assert (function is None) == without
    if function is None:
        return

    @settings(max_examples=25, deadline=None)
    @given(VALUES[source])
    def check(value: Any) -> None:
        found = function(value)
        if found is None:
            return
        assert type(found) is {"b": bool, "d": float, "s": str, "v": str, "t": int}.get(
            target[0] if not target.startswith(("big", "tiny")) else "t"
        )
        if isinstance(found, int):
            assert kind.low <= found <= kind.high
        if isinstance(found, str) and kind.length is not None:
            assert len(found) <= kind.length

    check()


def test_nothing_is_cast_to_json() -> None:
    assert cast_function(kind_of("string"), kind_of("json")) is None
    assert cast_function(kind_of("json"), kind_of("json")) is None


def test_very_long_texts_are_no_numbers_and_cost_nothing() -> None:
    to_integer, to_double = (
        cast_function(kind_of("string"), kind_of("bigint")),
        cast_function(kind_of("string"), kind_of("double")),
    )
    assert to_integer is not None
    assert to_double is not None
    assert to_integer("9" * 1_000_000) is None
    assert to_double("9" * 1_000_000) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9007199254740993.0", 9007199254740993),
        ("-9223372036854775808.999", -(2**63)),
        (" 90071992547409931e-1 ", 9007199254740993),
        (".9e19", 9 * 10**18),
        ("-.5", 0),
        ("0e99999", 0),
        ("1e99999", None),
        ("9223372036854775808", None),
        ("1" * 399 + "e-398", 1),
        ("1e-99999", 0),
        ("0x10", None),
        ("1e", None),
        (".", None),
    ],
)
def test_text_becomes_an_integer_without_passing_through_a_double(text: str, number: int | None) -> None:
    function = cast_function(kind_of("string"), kind_of("bigint"))
    assert function is not None
    assert function(text) == number
