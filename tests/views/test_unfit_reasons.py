"""Every way in which a record does not fit has its sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views.column_types import parse_type
from views.columns import parse_columns
from views.unfit_reasons import (
    EXPLAINED_BYTES_MAX,
    SENTENCE_BYTES_MAX,
    UNEXPLAINED,
    Explainer,
    column_problem,
    cut,
)

COLUMNS = "id bigint, delay int, s varchar(3), d double, b bool, t timestamp, j json, tiny tinyint unsigned"
EXPLAINER = Explainer(parse_columns(COLUMNS + ", city varchar(9) tag, n int tag"))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b'{"delay":"x"}', "delay: expected int, got a string"),
        (b'{"delay":1.5}', "delay: expected int, got 1.5"),
        (b'{"delay":[1]}', "delay: expected int, got an array"),
        (b'{"delay":{}}', "delay: expected int, got an object"),
        (b'{"delay":true}', "delay: expected int, got a boolean"),
        (
            b'{"delay":3000000000}',
            "delay: 3000000000 is beyond int, which goes from -2147483648 to 2147483647",
        ),
        (b'{"tiny":-1}', "tiny: -1 is beyond tinyint unsigned, which goes from 0 to 255"),
        (b'{"id":%s}' % (b"9" * 500), f"id: {'9' * 37}... is beyond bigint, which goes from"),
        (b'{"s":"four"}', "s: a string of 4 characters is too long for varchar(3)"),
        (b'{"s":4}', "s: expected varchar(3), got a number"),
        (b'{"s":"\xff"}', "s: a string that is not UTF-8"),
        (b'{"d":1e999}', "d: 1e999 is more than a double can be"),
        (b'{"d":"x"}', "d: expected double, got a string"),
        (b'{"b":1}', "b: expected bool, got a number"),
        (b'{"t":"2026-13-01"}', "t: '2026-13-01' is not a timestamp"),
        (b'{"t":1.5}', "t: expected timestamp(ms), got 1.5"),
        (b'{"t":99999999999999999999}', "t: 99999999999999999999 is beyond timestamp(ms), which goes from"),
        (b'{"city":"Frankfurt am Main"}', "city: a string of 17 characters is too long for varchar(9)"),
        (b'{"id":"x","id":1}', "id: expected bigint, got a string"),
        (b'{"id":"x","s":5}', "id: expected bigint, got a string; s: expected varchar(3), got a number"),
        (b"", "not JSON: the value is empty"),
        (b" \n", "not JSON: the value is empty"),
        (b'{"id":1', "not JSON: input data was truncated"),
        (b'{"id":1}x', "not JSON: trailing characters"),
        (b"{'id':1}", "not JSON: "),
        (b"[1]", "expected an object, got an array"),
        (b"5", "expected an object, got a number"),
        (b'"x"', "expected an object, got a string"),
        (b"null", "expected an object, got null"),
        (b'{"j":%s%s}' % (b"[" * 100_000, b"]" * 100_000), "nested too deeply"),
        (b'{"s":"%s"}' % (b"x" * EXPLAINED_BYTES_MAX), "a value of 1048584 bytes does not fit the columns"),
    ],
)
def test_a_value_is_explained(value: bytes, sentence: str) -> None:
    assert EXPLAINER.explain(value).startswith(sentence)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (("kawal.tag.n", b"abc"), "n: expected int, got 'abc' in the header kawal.tag.n"),
        (("kawal.tag.n", b"\xff"), "n: the header kawal.tag.n is not UTF-8"),
        (("kawal.tag.city", b"too long a city"), "city: expected varchar(9), got 'too long a city' in the"),
    ],
)
def test_a_tag_in_a_header_is_explained(header: tuple[str, bytes], sentence: str) -> None:
    for value in (None, b'{"id":1}'):
        assert EXPLAINER.explain(value, (("a", None), header)).startswith(sentence)


def test_the_last_header_of_a_tag_counts_and_null_is_no_tag() -> None:
    headers = (("kawal.tag.n", b"abc"), ("kawal.tag.n", b"5"))
    assert EXPLAINER.explain(None, headers) == UNEXPLAINED
    assert EXPLAINER.explain(None, (*headers, ("kawal.tag.n", None))) == UNEXPLAINED


def test_what_is_right_has_no_problem() -> None:
    for name, raw in {
        "int": b"-2147483648",
        "varchar(3)": '"äöü"'.encode(),
        "double": b"1e308",
        "bool": b"false",
        "timestamp": b'"2026-01-31T10:00:00Z"',
        "timestamp(ns)": b"-5",
        "json": b"[[]]",
        "bigint": b"null",
    }.items():
        kind = parse_type(name)
        assert kind is not None
        assert column_problem(kind, raw) is None


def test_a_long_sentence_is_cut_between_characters() -> None:
    assert cut("short") == "short"
    sentence = cut("ä" * 1_000)
    assert len(sentence.encode()) <= SENTENCE_BYTES_MAX
    assert sentence.endswith("ä...")
    assert cut("\ud800") == "?"


@UNHURRIED
@given(
    st.dictionaries(
        st.sampled_from(["id", "delay", "s", "d", "b", "t", "j", "tiny", "city", "n", "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
            max_leaves=3,
        ),
    )
)
def test_whatever_is_in_an_object_is_explained_in_a_short_sentence(members: dict[str, Any]) -> None:
    sentence = EXPLAINER.explain(json.dumps(members).encode())
    assert len(sentence.encode()) <= SENTENCE_BYTES_MAX
    assert "\n" not in sentence


@UNHURRIED
@given(st.binary(max_size=40))
def test_whatever_bytes_there_are_they_are_explained(value: bytes) -> None:
    assert EXPLAINER.explain(value)
