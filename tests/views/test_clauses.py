"""Clauses that a view cannot have are refused by name."""

from __future__ import annotations

import pytest

from views.clauses import alias_of, check_clauses, refuse_windows
from views.dialect import parse_select, tokenize
from views.errors import NotAllowed, SyntaxProblem


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("SELECT a FROM t ORDER BY a", "ORDER BY"),
        ("SELECT a FROM t GROUP BY a", "GROUP BY"),
        ("SELECT DISTINCT a FROM t", "DISTINCT"),
        ("SELECT a FROM t, u", "JOIN"),
        ("SELECT a FROM t LIMIT 1", "LIMIT"),
        ("SELECT a FROM (SELECT 1)", "FROM must name one topic"),
    ],
)
def test_a_clause_is_refused_by_its_name(text: str, clause: str) -> None:
    with pytest.raises(NotAllowed, match=clause):
        check_clauses(parse_select(tokenize(text), text))


def test_select_from_one_topic_and_where_is_all_there_is() -> None:
    text = "SELECT a, b FROM t WHERE a > 1"
    check_clauses(parse_select(tokenize(text), text))


@pytest.mark.parametrize(
    "word", ["INTERVAL(1h)", "STATE_WINDOW(a)", "PARTITION BY a", "SLIMIT 1", "SOFFSET 1"]
)
def test_windows_and_partitions_are_refused_by_their_names(word: str) -> None:
    read = tokenize(f"SELECT a FROM t {word}")
    with pytest.raises(NotAllowed, match=word.split("(")[0].split()[0]):
        refuse_windows(read, 4)
    refuse_windows(tokenize("SELECT a FROM t WHERE `INTERVAL` = (interval)"), 4)


def test_an_alias_is_a_name_alone() -> None:
    for text, alias in (("SELECT a FROM t", ""), ("SELECT a FROM t AS x", "x"), ("SELECT a FROM t x", "x")):
        assert alias_of(parse_select(tokenize(text), text)) == alias
    text = "SELECT a FROM t x(b)"
    with pytest.raises(NotAllowed, match="an alias with columns"):
        alias_of(parse_select(tokenize(text), text))


@pytest.mark.parametrize("source", ["f@x", "f:x", "f @x"])
def test_signs_after_the_name_in_from_are_refused_not_left_out(source: str) -> None:
    text = f"SELECT a FROM {source} WHERE a > 1"
    with pytest.raises(
        SyntaxProblem, match="after the name in FROM is no alias; a name with characters other"
    ):
        alias_of(parse_select(tokenize(text), text))
