"""What of SQL is read, within which bounds, and how long the worst of it takes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlglot import exp

from views.dialect import BRACKETS_DEEP_MAX, near, parse_select, tokenize
from views.errors import NotAllowed, SyntaxProblem, TooComplex


def select(text: str) -> exp.Select:
    return parse_select(tokenize(text), text)


def test_strings_stand_in_both_quotes_and_have_no_backslash_escapes() -> None:
    found = select("SELECT 'it''s', \"a\"\"b\", 'a\\n', '\\' FROM t").expressions
    assert [one.this for one in found] == ["it's", 'a"b', "a\\n", "\\"]


def test_functions_stay_names_with_arguments() -> None:
    found = select("SELECT LEFT(a, 1), COUNT(a), YEAR(d), IF(a, b, c), NOW() FROM t").expressions
    assert [type(one) for one in found] == [exp.Anonymous] * 5


def test_members_of_json_are_names_not_paths() -> None:
    [found] = select("SELECT j->'a.b[0]' FROM t").expressions
    assert isinstance(found, exp.JSONExtract)
    assert found.expression.this == "a.b[0]"


def test_depth_is_bounded_before_anything_is_parsed() -> None:
    deepest = "(" * BRACKETS_DEEP_MAX + "a" + ")" * BRACKETS_DEEP_MAX
    select(f"SELECT {deepest} FROM t")
    with pytest.raises(TooComplex, match=r"'\(' at line 1, column 32 lies more than 24 levels deep"):
        tokenize(f"SELECT ({deepest}) FROM t")


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
    """0.1 s of start-up that a broker without views does not pay."""
    modules = "views.columns, views.errors, views.tags, views.column_types"
    code = f"import sys, {modules}; print([name for name in ('sqlglot', 're2') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
