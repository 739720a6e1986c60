"""Statements that make long texts are allowed as long as no record holds up others."""

from __future__ import annotations

import pytest

from tests.views.rows import make_plan
from views.errors import TooComplex
from views.text_growth import PASSES_MAX

COLUMNS = "n int, s string, t string"


def plan(column: str, count: int = 1, condition: str = "") -> None:
    columns = ", ".join(f"{column} AS c{number}" for number in range(count))
    make_plan(f"SELECT {columns} FROM x{condition and ' WHERE '}{condition}", COLUMNS)


@pytest.mark.parametrize(
    ("column", "each"),
    [
        ("LENGTH(REPEAT(s, 3000))", 1),
        ("REPEAT(s, n)", 1),
        ("LPAD(s, 65000, 'ab')", 1),
        ("UPPER(RPAD(s, n))", 2),
        ("INSTR(LOWER(REPLACE(s, 'a', t)), 'b')", 2),
        ("REPLACE(s, 'a', CONCAT(t, t))", 1),
        ("LENGTH(REPEAT(REPEAT(s, 10), 10))", 1),
        ("STARTS_WITH(REPEAT(s, 65), t)", 1),
        ("CASE WHEN n > 0 THEN REPEAT(s, n) END", 1),
        ("LENGTH(CONCAT(REPEAT(s, 40), REPEAT(t, 40)))", 1),
    ],
)
def test_long_texts_are_gone_through_so_often_and_no_more(column: str, each: int) -> None:
    plan(column, PASSES_MAX // each)
    with pytest.raises(TooComplex, match=f"goes {PASSES_MAX + each} times through texts"):
        plan(column, PASSES_MAX // each + 1)


@pytest.mark.parametrize(
    "column",
    [
        "LPAD(s, 8, '0')",
        "REPEAT(s, 3)",
        "UPPER(REPLACE(s, 'ab', 'cd'))",
        "CONCAT(s, '-', t)",
        "REPLACE(s, '-', '::')",
        "s || t || s",
    ],
)
def test_what_stays_short_may_stand_as_often_as_one_likes(column: str) -> None:
    plan(column, 150)


def test_conditions_count_as_well() -> None:
    plan("n", condition=" OR ".join(["REPEAT(s, n) = t"] * PASSES_MAX))
    with pytest.raises(TooComplex):
        plan("n", condition=" OR ".join(["REPEAT(s, n) = t"] * (PASSES_MAX + 1)))
