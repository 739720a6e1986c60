"""The part of SQL that is read, its bounds, and the time that the worst of it takes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

import pytest
from sqlglot import exp
from sqlglot.errors import ParseError

from views.dialect import BRACKETS_DEEP_MAX, DIALECT, STEPS_MAX, Exhausted, near, parse_select, tokenize
from views.errors import NotAllowed, SyntaxProblem, TooComplex


def select(text: str) -> exp.Select:
    return parse_select(tokenize(text), text)


def test_strings_stand_in_both_quotes_and_have_no_backslash_escapes() -> None:
    found = select("SELECT 'it''s', \"a\"\"b\", 'a\\n', '\\' FROM t").expressions
    assert [literal.this for literal in found] == ["it's", 'a"b', "a\\n", "\\"]


def test_functions_stay_names_with_arguments() -> None:
    found = select("SELECT LEFT(a, 1), COUNT(a), YEAR(d), IF(a, b, c), NOW() FROM t").expressions
    assert [type(call) for call in found] == [exp.Anonymous] * 5


def test_members_of_json_are_names_not_paths() -> None:
    [found] = select("SELECT j->'a.b[0]' FROM t").expressions
    assert isinstance(found, exp.JSONExtract)
    assert found.expression.this == "a.b[0]"


def test_depth_is_bounded_before_anything_is_parsed() -> None:
    deepest = "(" * BRACKETS_DEEP_MAX + "a" + ")" * BRACKETS_DEEP_MAX
    select(f"SELECT {deepest} FROM t")
    with pytest.raises(TooComplex, match=r"'\(' at line 1, column 32 is nested more than 24 levels deep"):
        tokenize(f"SELECT ({deepest}) FROM t")


@pytest.mark.parametrize(
    "opening", ["struct(", "array<", "map(", "x[", "CASE WHEN a THEN ", "decimal(", "(", "{a:"]
)
def test_parsing_ends_after_so_many_steps_whatever_is_opened_and_not_closed(opening: str) -> None:
    """`struct(` doubles the parser's work with each level: 24 of them took minutes."""
    for text in (f"SELECT a FROM t WHERE {opening * 24}a", f"SELECT {opening * 24}a FROM t"):
        parser: Any = DIALECT.parser()
        with contextlib.suppress(ParseError, Exhausted):
            parser.parse(DIALECT.tokenize(text), text)
        assert parser.steps <= STEPS_MAX + 1


def test_long_statements_that_are_plain_need_few_steps() -> None:
    text = "SELECT a FROM t WHERE " + " AND ".join(["(a > 1 OR b IN (1, 2, 3))"] * 150)
    parser: Any = DIALECT.parser()
    parser.parse(DIALECT.tokenize(text), text)
    assert parser.steps < STEPS_MAX / 2


def test_signs_are_counted_before_they_are_cut_into_tokens() -> None:
    with pytest.raises(TooComplex, match="more than 3000 words and signs"):
        tokenize("@" * 16_000)


@pytest.mark.parametrize("text", ["SELECT 'a", "SELECT `a", "SELECT /* a", 'SELECT "a'])
def test_what_does_not_end_is_a_problem_or_a_token(text: str) -> None:
    try:
        read = tokenize(text)
    except SyntaxProblem:
        return
    assert read[0].text == "SELECT"


def test_only_one_plain_select_is_taken() -> None:
    with pytest.raises(NotAllowed, match="UNION"):
        select("SELECT a FROM t UNION ALL SELECT b FROM u")
    with pytest.raises(SyntaxProblem, match="a view is a SELECT, not DROP"):
        select("DROP TABLE t")
    with pytest.raises(SyntaxProblem, match="one statement, not 2"):
        select("SELECT a FROM t; SELECT b FROM t")
    with pytest.raises(SyntaxProblem, match="one statement, not 0"):
        select("")


def test_places_are_counted_from_one() -> None:
    read = tokenize("SELECT a\n  FROM t")
    assert [near(token) for token in read[:3]] == [
        "'SELECT' at line 1, column 1",
        "'a' at line 1, column 8",
        "'FROM' at line 2, column 3",
    ]


def test_sqlglot_is_loaded_only_when_a_statement_is_parsed() -> None:
    """A broker without views does not pay the 0.1 s of start-up."""
    modules = "views.columns, views.errors, views.tags, views.column_types"
    code = f"import sys, {modules}; print([name for name in ('sqlglot', 're2') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT a FROM t WHERE b = 'x", "the ' at line 1, column 27 is not closed"),
        ("SELECT a,\n  \"b'c FROM t", 'the " at line 2, column 3 is not closed'),
        ("SELECT `a FROM t -- '", "the ` at line 1, column 8 is not closed"),
        ("SELECT a FROM t -- it's\nWHERE b = 'it''s' AND c = 'x", "the ' at line 2, column 27 is not closed"),
    ],
)
def test_a_quote_that_is_not_closed_is_named_by_its_place(text: str, words: str) -> None:
    with pytest.raises(SyntaxProblem, match=words):
        tokenize(text)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("j->>'x'", r"CAST\(column->'name' AS string\)"),
        ("j #> 'x'", "write column->'name'"),
        ("a::int", r"write CAST\(value AS type\)"),
        ("a IN 1", "'1' at line 1, column 13: IN takes a list in brackets"),
    ],
)
def test_what_other_databases_write_is_refused_with_what_to_write_here(expression: str, words: str) -> None:
    with pytest.raises((SyntaxProblem, NotAllowed), match=words):
        select(f"SELECT {expression} FROM t")


def test_texts_and_names_may_hold_what_is_no_operator_here() -> None:
    found = select("SELECT '->>' AS `->>`, a IN ('::') FROM t").expressions
    assert found[0].alias == "->>"
