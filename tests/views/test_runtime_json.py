"""JSON values are opened one level at a time."""

from __future__ import annotations

import msgspec
import pytest

from views import runtime_json as json


def test_members_are_the_bytes_that_stand_there() -> None:
    value = b'{"a" : {"b":  [1, 2] } , "n": null, "a": 7}'
    assert json.member(b'{"a" : {"b":  [1, 2] }}', "a") == b'{"b":  [1, 2] }'
    assert json.member(value, "a") == b"7"
    assert json.member(value, "n") is None
    assert json.member(value, "x") is None
    assert json.member(b"[1]", "a") is None
    assert json.has_member(value, "n")
    assert not json.has_member(b'"n"', "n")


def test_scalars_are_values_and_others_are_none() -> None:
    assert [json.scalar(text) for text in (b"1", b"1.5", b'"x"', b"true", b"null", b"{}", b"[]")] == [
        1,
        1.5,
        "x",
        True,
        None,
        None,
        None,
    ]


def test_text_is_the_content_of_strings_and_the_json_of_others() -> None:
    assert [json.text(text) for text in (b'"a\\n"', b"[1, 2]", b"5", '{"é":1}'.encode())] == [
        "a\n",
        "[1, 2]",
        "5",
        '{"é":1}',
    ]


def test_a_depth_that_no_stack_holds_is_an_error_of_the_decoder() -> None:
    with pytest.raises((RecursionError, msgspec.DecodeError)):
        json.member(b'{"a":' + b"[" * 500_000, "a")
