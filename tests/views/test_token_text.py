"""The text and the places of tokens."""

from __future__ import annotations

import pytest
from sqlglot.tokenizer_core import TokenType

from views.dialect import tokenize
from views.token_text import cut_at_commas, depth_zero, normalised, position_of


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a+b", "a + b"),
        ("a-1", "a-1"),
        ("a - 1", "a - 1"),
        ("f( a,b )", "f(a, b)"),
        ("f (a)", "f (a)"),
        ("a in(1)", "a IN(1)"),
        ("a.b.c", "a.b.c"),
        ("'x  y' || \"z\"", "'x  y' || \"z\""),
        ("`a  b`", "`a  b`"),
        ("a\n\tand /* why */ b -- end", "a AND b"),
        ("Case When a Then 1.50 End", "CASE WHEN a THEN 1.50 END"),
        ("ts > 1h", "ts > 1h"),
        ("date(ts)", "date(ts)"),
    ],
)
def test_text_is_one_line_with_single_blanks(text: str, line: str) -> None:
    assert normalised(tokenize(text), text) == line
    assert normalised(tokenize(line), line) == line


def test_brackets_hide_commas_and_words() -> None:
    text = "f(a, b), (c, (d)), e FROM t"
    read = tokenize(text)
    at = position_of(read, TokenType.FROM)
    assert at is not None
    assert [normalised(part, text) for part in cut_at_commas(read[:at])] == ["f(a, b)", "(c, (d))", "e"]
    assert [read[position].text for position in depth_zero(read, at)] == ["FROM", "t"]


def test_from_behind_distinct_is_an_operator() -> None:
    read = tokenize("a IS DISTINCT FROM b FROM t")
    assert position_of(read, TokenType.FROM) == 5
    assert position_of(tokenize("(a FROM t)"), TokenType.FROM) is None
