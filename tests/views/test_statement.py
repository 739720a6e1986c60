"""Statements as they are written: the names in them, their stored text, and the refusal of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views.errors import NotAllowed, SyntaxProblem, TooComplex, ViewError
from views.statement import Kind, Meta, parse_view


@pytest.mark.parametrize(
    ("text", "kind", "source", "meta"),
    [
        ("SELECT * FROM meters", Kind.QUERY, "meters", Meta.NONE),
        ("select a, b+1 as c from power.meters where a > 1;", Kind.QUERY, "power.meters", Meta.NONE),
        ("SELECT a FROM flights-2026.us-east WHERE a-1 > 0", Kind.QUERY, "flights-2026.us-east", Meta.NONE),
        ("SELECT a FROM `any text, at all`", Kind.QUERY, "any text, at all", Meta.NONE),
        ("SELECT a FROM 2026-01", Kind.QUERY, "2026-01", Meta.NONE),
        ("SELECT a FROM order-events", Kind.QUERY, "order-events", Meta.NONE),
        ("STABLE meters", Kind.STABLE, "meters", Meta.NONE),
        ("stable meters where tbname = 'd1' with meta", Kind.STABLE, "meters", Meta.WITH),
        ("WITH META AS STABLE meters", Kind.STABLE, "meters", Meta.WITH),
        ("ONLY META AS DATABASE power", Kind.DATABASE, "power", Meta.ONLY),
        ("DATABASE power ONLY META", Kind.DATABASE, "power", Meta.ONLY),
        ("UNFIT meters", Kind.UNFIT, "meters", Meta.NONE),
        ("unfit power.meters-2 where tbname = 'd1'", Kind.UNFIT, "power.meters-2", Meta.NONE),
    ],
)
def test_what_follows_as_is_read(text: str, kind: Kind, source: str, meta: Meta) -> None:
    statement = parse_view(text)
    assert (statement.kind, statement.source, statement.meta) == (kind, source, meta)
    assert parse_view(statement.text) == statement


def test_a_whole_create_topic_is_read() -> None:
    statement = parse_view(
        "CREATE TOPIC IF NOT EXISTS high-voltage WITH META AS STABLE meters WHERE tbname = 'x'"
    )
    assert (statement.topic, statement.if_not_exists) == ("high-voltage", True)
    assert statement.text == "WITH META AS STABLE meters WHERE tbname = 'x'"


def test_unfit_may_name_columns_and_is_stored_in_one_way() -> None:
    statement = parse_view("create topic bad as unfit meters( a,`odd ``name`, timestamp )\n where _key='x'")
    assert (statement.topic, statement.columns) == ("bad", ("a", "odd `name", "timestamp"))
    assert statement.text == "UNFIT meters (a, `odd ``name`, timestamp) WHERE _key = 'x'"
    assert parse_view(statement.text) == statement
    assert parse_view("UNFIT meters").columns == ()


def test_the_name_in_the_statement_must_be_that_of_the_topic() -> None:
    assert parse_view("CREATE TOPIC t AS SELECT * FROM m", topic="t").topic == "t"
    with pytest.raises(SyntaxProblem, match="creates topic 'u', but the topic's name is 't'"):
        parse_view("CREATE TOPIC u AS SELECT * FROM m", topic="t")


def test_texts_that_differ_in_blanks_comments_and_case_of_keywords_are_stored_alike() -> None:
    one = parse_view("select a,b+1 as c\n from m -- all of it\n where a>1 and b like 'x  y' /* ! */")
    assert one.text == "SELECT a, b + 1 AS c FROM m WHERE a > 1 AND b LIKE 'x  y'"
    assert one == parse_view("SELECT  a, b + 1  AS c FROM m WHERE a > 1 AND b LIKE 'x  y'")
    assert hash(one) == hash(parse_view(one.text))
    assert one != parse_view("SELECT a, b + 1 AS c FROM m WHERE a > 1 AND b LIKE 'x y'")


def test_columns_are_called_by_alias_or_by_their_text() -> None:
    statement = parse_view("SELECT a, b AS `x y`, c*2, CONCAT(a, 'b') , *, d e FROM m")
    assert [projection.name for projection in statement.projections] == [
        "",
        "x y",
        "c * 2",
        "CONCAT(a, 'b')",
        "",
        "e",
    ]
    assert [projection.node is None for projection in statement.projections] == [False] * 4 + [True, False]


REFUSED = {
    "SELECT DISTINCT a FROM t": "DISTINCT is not possible",
    "SELECT a FROM t GROUP BY a": "GROUP BY is not possible",
    "SELECT a FROM t GROUP BY a HAVING a > 1": "GROUP BY is not possible",
    "SELECT a FROM t ORDER BY a": "ORDER BY is not possible",
    "SELECT a FROM t LIMIT 1": "LIMIT is not possible",
    "SELECT a FROM t OFFSET 1": "OFFSET is not possible",
    "SELECT a FROM t SLIMIT 1": "SLIMIT is not possible",
    "SELECT a FROM t PARTITION BY a": "PARTITION BY is not possible",
    "SELECT a FROM t INTERVAL(1h)": "the window INTERVAL is not possible",
    "SELECT a FROM t WHERE a > 1 SESSION(ts, 1h)": "the window SESSION is not possible",
    "SELECT a FROM t STATE_WINDOW(a)": "the window STATE_WINDOW is not possible",
    "SELECT a FROM t, u": "JOIN .* is not possible",
    "SELECT a FROM t JOIN u": "JOIN .* is not possible",
    "SELECT a FROM t LEFT JOIN u ON 1 = 1": "JOIN .* is not possible",
    "SELECT a FROM (SELECT 1)": "a sub-query in FROM is not possible",
    "SELECT a FROM t UNION SELECT b FROM u": "UNION of several queries is not possible",
    "SELECT a FROM t EXCEPT SELECT b FROM u": "EXCEPT of several queries is not possible",
    "WITH x AS (SELECT 1) SELECT * FROM x": "WITH queries .* are not possible",
    "SELECT a FROM t x(b)": "an alias with columns in FROM",
    "SELECT a INTO u FROM t": "INTO is not possible",
    "WITH META AS SELECT a FROM t": "WITH META is for STABLE and DATABASE",
    "ONLY META AS UNFIT t": "ONLY META is for STABLE and DATABASE, not for UNFIT",
    "UNFIT t WHERE tbname = 'x' ORDER BY _offset": "ORDER BY is not possible",
    "SELECT " + ", ".join(f"a AS a{n}" for n in range(257)) + " FROM t": "257 columns; at most 256",
}


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_what_a_view_cannot_be_is_refused_by_its_name(text: str, words: str) -> None:
    with pytest.raises(NotAllowed, match=words):
        parse_view(text)


WRONG = {
    "": "the statement is empty",
    " ; ;": "the statement is empty",
    "INSERT INTO t VALUES (1)": "expected SELECT, STABLE, UNFIT or DATABASE, found 'INSERT' at line 1",
    "UNFIT": "expected the name of a topic or database, found the end of the statement",
    "UNFIT t (a": "the list of columns after the topic is not closed by",
    "UNFIT t (a b)": "'a b' in the list of columns is not a name",
    "UNFIT t ()": "'' in the list of columns is not a name",
    "UNFIT t ('a')": "\"'a'\" in the list of columns is not a name",
    "UNFIT t WITH META": "expected a list of columns in brackets, WHERE or the end, found 'WITH' at line 1",
    "UNFIT t (a) b": "expected WHERE or the end, found 'b' at line 1, column 13",
    "CREATE TABLE x (a int)": "expected TOPIC, found 'TABLE' at line 1, column 8",
    "CREATE TOPIC x SELECT * FROM t": "expected AS, found 'SELECT' at line 1, column 16",
    "CREATE TOPIC AS SELECT * FROM t": "expected AS, found",
    "CREATE TOPIC IF EXISTS x AS SELECT 1": "expected NOT, found",
    "SELECT 1": "FROM is missing",
    "SELECT a FROM": "FROM is missing",
    "SELECT FROM t": "cannot be told apart",
    "SELECT a,, b FROM t": "cannot be told apart",
    "SELECT a FROM t WHERE": "something is missing",
    "SELECT a FROM t WHERE (a = 1": "expecting \\)",
    "SELECT a FROM t WHERE a = 'x": "the ' at line 1, column 27 is not closed",
    "SELECT a FROM t; SELECT b FROM t": "a semicolon separates several",
    "SELECT a\nFROM t\nWHERE a = = 1": "line 3",
    "DATABASE d WHERE a = 1": "expected the end, found",
    "DATABASE": "expected the name of a topic or database, found the end of the statement",
    "STABLE s, u": "expected WHERE or the end, found",
    "WITH META AS STABLE s ONLY META": "META is given twice",
    "STABLE 'text'": "expected the name of a topic or database, found 'text'",
    "SELECT a FROM t WHERE a = '\0'": "NUL character",
    "SELECT a FROM t WHERE a LIKE '\ud800'": "half a surrogate pair",
    "EXPLAIN SELECT a FROM t": "'EXPLAIN' at line 1",
}


@pytest.mark.parametrize(("text", "words"), WRONG.items())
def test_what_is_no_statement_is_told_with_its_place(text: str, words: str) -> None:
    with pytest.raises(SyntaxProblem, match=words):
        parse_view(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE a = '" + "x" * 20_000 + "'",
        "SELECT " + "(" * 30 + "a" + ")" * 30 + " FROM t",
        "SELECT " + "f(" * 30 + "a" + ")" * 30 + " FROM t",
        "SELECT a FROM t WHERE " + "NOT " * 2_000 + "a",
        "SELECT " + "- " * 2_000 + "1 FROM t",
        "SELECT " + "CASE WHEN a THEN " * 50 + "1" + " END" * 50 + " FROM t",
        "SELECT a FROM t WHERE a IN (" + "1," * 3_000 + "1)",
        "SELECT " + "[" * 8_000,
    ],
    ids=lambda text: text[:30],
)
def test_statements_beyond_the_bounds_are_refused(text: str) -> None:
    with pytest.raises(TooComplex):
        parse_view(text)


_WORDS = """
SELECT FROM WHERE AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END CAST AS META WITH ONLY STABLE
CREATE TOPIC IF EXISTS a b t * , ( ) + - / % . ; = < > 1 1.5 1h 'x' "y" `z` -> || -- /* */ [ ] { } : ?
@ DATABASE MATCH CONTAINS ESCAPE JOIN UNION ORDER BY LIMIT é
"""
_PIECES = st.sampled_from([*_WORDS.split(), "\n"])


def problem_of(text: str) -> str | None:
    try:
        parse_view(text)
    except ViewError as refused:
        return refused.problem
    return None


@UNHURRIED
@given(st.lists(_PIECES, max_size=30))
def test_any_run_of_words_is_a_statement_or_a_view_error(pieces: list[str]) -> None:
    problem = problem_of(" ".join(pieces))
    assert problem != ""
    if problem is None:
        stored = parse_view(" ".join(pieces)).text
        assert parse_view(stored).text == stored


@UNHURRIED
@given(st.text(max_size=60))
def test_any_text_behind_where_is_a_statement_or_a_view_error(text: str) -> None:
    assert problem_of("SELECT a FROM t WHERE " + text) != ""
