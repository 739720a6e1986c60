"""Names and types: their binding, and the sentence for everything that is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from protocol.record_writer import encode_batch
from tests.views.duckdb_expressions import COLUMNS, DECLARED, OPERATIONS, Pair, alike
from tests.views.rows import evaluate, make_plan, make_view, records
from views.errors import NotAllowed, TooComplex, TypeProblem, UnknownColumn, ViewError
from views.filtering import filter_batch

FEW = "a int, b double, c string, d timestamp, e json, f bool, g string tag, u timestamp(us)"


@pytest.mark.parametrize(
    ("sql", "columns", "words"),
    [
        ("SELECT nope FROM t", FEW, "column 'nope' is unknown; the source declares a, b, c"),
        ("SELECT a FROM t", None, "column 'a' is unknown: the source declares no columns"),
        ("SELECT w.a FROM t", FEW, "'w' is not the source of this view"),
        ("SELECT e.x FROM t", FEW, "e.x: 'e' is a column; the member of its object is e->'x'"),
        ("SELECT u.a FROM t", FEW, r"'u' is a column of type timestamp\(us\), which has no members"),
        ("SELECT 1n FROM t", FEW, "'1n' is neither a number nor a column, and no duration"),
        ("SELECT 1.5x FROM t", FEW, "'1.5x' is neither a number"),
        ("SELECT 0b101 FROM t", FEW, "'0b101' is neither a number"),
        ("SELECT x.t.a FROM db.t", FEW, "'x.t' is not the source"),
        ("SELECT A1 FROM t", "a1 int, A1x int, `a1 ` int, Aa int, aA int", None),
        ("SELECT AA FROM t", "Aa int, aA int", "column 'AA' is unknown"),
    ],
)
def test_columns_are_those_that_the_source_declares(sql: str, columns: str | None, words: str | None) -> None:
    if words is None:
        assert make_plan(sql, columns).used_columns == {"a1"}
        return
    with pytest.raises(UnknownColumn, match=words):
        make_plan(sql, columns)


def test_columns_may_be_qualified_by_source_and_alias_and_quoted() -> None:
    plan = make_plan("SELECT t.a, m.b, `c`, power.t.d FROM power.t m", FEW)
    assert plan.used_columns == {"a", "b", "c", "d"}


def test_a_quoted_name_is_always_a_column() -> None:
    assert make_plan("SELECT `1h`, `now` FROM t", "`1h` int, now int").used_columns == {"1h", "now"}


def test_common_words_are_names_of_columns_without_quotes() -> None:
    words = (
        "ts time date year month day hour type status level value key start end user current row index name "
    )
    words += "group order desc limit offset count min max first last left right position interval uuid now"
    for word in words.split():
        plan = make_plan(
            f"SELECT {word}, other FROM t WHERE {word} > 1 AND other = {word}", f"`{word}` int, other int"
        )
        assert plan.used_columns == {word, "other"}


def test_behind_stable_only_tags_keys_and_headers_may_be_asked_for() -> None:
    for good in ("g = 'x'", "tbname LIKE 'a%'", "header('h') IS NULL", "_key = 'k'", "2 > 1", "FALSE"):
        make_plan(f"STABLE t WHERE {good}", FEW)
    with pytest.raises(NotAllowed, match="column 'a' is not a tag"):
        make_plan("STABLE t WHERE a > 1", FEW)
    with pytest.raises(UnknownColumn):
        make_plan("STABLE t WHERE nope = 1", FEW)
    with pytest.raises(NotAllowed, match="aggregate COUNT"):
        make_plan("STABLE t WHERE COUNT(g) > 1", FEW)


def test_where_needs_a_condition() -> None:
    with pytest.raises(TypeProblem, match="WHERE needs a condition, but a \\+ 1 is a bigint"):
        make_plan("SELECT * FROM t WHERE a + 1", FEW)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE " + " + ".join(["a"] * 80) + " > 1",
        "SELECT a FROM t WHERE a IN (" + ", ".join(map(str, range(1_100))) + ")",
        "SELECT " + "a || " * 70 + "c FROM t",
        "SELECT a FROM t WHERE " + " OR ".join(["c LIKE 'a%b'"] * 33),
        "SELECT a FROM t WHERE "
        + "((" * 10
        + "a > 1"
        + ") OR f)" * 10
        + " AND c > '' || "
        + "''||" * 70
        + "''",
    ],
    ids=["chain", "list", "texts", "patterns", "mixed"],
)
def test_expressions_beyond_the_bounds_are_refused(sql: str) -> None:
    with pytest.raises((TooComplex, TypeProblem)):
        make_plan(sql, FEW)


@pytest.mark.parametrize(
    ("start", "around"),
    [
        ("a", "NULLIF({}, 1)"),
        ("a", "IF({} BETWEEN 1 AND 2, 1, 2)"),
        ("a", "CASE {} WHEN 1 THEN 2 WHEN 3 THEN 4 END"),
        ("d", "IF({} IN (u, u), d, d)"),
    ],
)
def test_operands_that_are_evaluated_twice_do_not_double_without_end(start: str, around: str) -> None:
    nested = start
    for _ in range(20):
        nested = around.format(nested)
    for sql in (f"SELECT {nested} AS x FROM t", f"SELECT * FROM t WHERE {nested} IS NULL"):
        with pytest.raises(TooComplex, match="comes to more than 3000 expressions"):
            make_plan(sql, FEW)


def test_many_columns_are_counted_together() -> None:
    nested = "NULLIF(NULLIF(NULLIF(a, 1), 2), 3)"
    make_plan(f"SELECT {nested} AS x FROM t", FEW)
    columns = ", ".join(f"{nested} AS x{number}" for number in range(130))
    with pytest.raises(TooComplex, match="comes to more than 3000 expressions"):
        make_plan(f"SELECT {columns} FROM t", FEW)


def test_long_runs_of_and_and_or_are_no_depth() -> None:
    for word in ("AND", "OR"):
        make_view("SELECT a FROM t WHERE " + f" {word} ".join(["a > 1"] * 300), FEW)


def test_integers_meet_doubles_and_timestamps_meet_in_the_finer_unit() -> None:
    row = {"a": 3, "b": 0.5, "d": 1_000, "u": 1_000_001}
    assert evaluate("a + b", row, FEW) == 3.5
    assert evaluate("d < u", row, FEW) is True
    assert evaluate("u - d", row, FEW) == 1
    assert evaluate("d IN (u, d)", row, FEW) is True
    assert evaluate("u > 1000", row, FEW) is True
    assert evaluate("d = '1970-01-01T00:00:01Z'", row, FEW) is True


KINDS = "bidst"


@st.composite
def wild(draw: DrawFn, depth: int = 3) -> Pair:
    """Draw an expression whose parts need not fit together."""
    if depth == 0 or draw(st.booleans()):
        pieces = [
            "NULL",
            "1",
            "'x'",
            "1h",
            "2.5",
            "TRUE",
            "_key",
            "_rowts",
            "'2026-01-01'",
            "n",
            "(-9223372036854775808)",
        ]
        return alike(draw(st.sampled_from([*pieces, *(name for kind in KINDS for name in COLUMNS[kind])])))
    _, arguments, write = draw(st.sampled_from(OPERATIONS))
    args: list[Any] = [draw(wild(depth - 1)) for _ in arguments]
    written: Pair = write(*args)
    return written


BATCH = memoryview(
    encode_batch(
        records(
            {}, {"i1": 2**63 - 1, "s1": "x", "d1": 1e308}, {"t1": -(2**63), "b1": True, "i2": -1, "s2": "é"}
        )
    )
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(wild())
def test_any_expression_is_refused_with_a_sentence_or_evaluated_without_an_error(pair: Pair) -> None:
    for sql in (f"SELECT {pair.ours} AS x FROM t", f"SELECT * FROM t WHERE {pair.ours}"):
        try:
            view = make_view(sql, DECLARED)
        except ViewError:
            continue
        assert filter_batch(view, BATCH).unfit == 0
