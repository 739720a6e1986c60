"""Values as text: exact, and laid out only as text."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as some

from console.web.values import SHOWN_BYTES_MAX, pretty_json, value_text

TREES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
    max_leaves=20,
)


def test_digits_escapes_and_members_that_come_twice_stay() -> None:
    text = r'{"id":9223372036854775807,"x":1.0e+05,"id":1,"t":"\u202e a,b:{"}'
    assert pretty_json(text) == (
        '{\n  "id": 9223372036854775807,\n  "x": 1.0e+05,\n  "id": 1,\n  "t": "\\u202e a,b:{"\n}'
    )


def test_empty_and_nested_ones() -> None:
    assert pretty_json("[]") == "[]"
    assert pretty_json("[{},[1]]") == "[\n  {},\n  [\n    1\n  ]\n]"


@given(TREES)
def test_the_layout_changes_no_value(tree: object) -> None:
    text = json.dumps([tree])
    pretty = pretty_json(text)
    assert pretty is not None
    assert json.loads(pretty) == [tree]


def test_what_is_no_object_or_list_is_left_alone() -> None:
    for text in ("12", '"a"', "{", "[1,]", "", "[" * 100_000):
        assert pretty_json(text) is None


def test_forms_are_told_apart() -> None:
    assert value_text(None)[:3] == ("null", "null", -1)
    assert value_text(b"")[:3] == ("", "text", 0)
    assert value_text(b'{"a":1}').form == "json"
    assert value_text(b"\xff\x00")[:2] == (r"\xff\x00", "binary")


def test_a_long_value_is_cut_also_within_a_character() -> None:
    data = "ä".encode() * SHOWN_BYTES_MAX
    found = value_text(b"x" + data)
    assert (found.form, found.cut, found.size) == ("text", True, len(data) + 1)
    assert len(found.text.encode()) == SHOWN_BYTES_MAX - 1
