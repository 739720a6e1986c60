"""Generated code: value, truth and falsehood of a condition agree, and it contains no text of users."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import pytest

from tests.views.rows import make_plan
from views.code_expressions import Coder, name
from views.expressions import Expression

COLUMNS = "a bool, b bool, i int, j int"
CONDITIONS = [
    "a",
    "NOT a",
    "a AND b",
    "a OR b",
    "NOT (1 & 3 IS NULL)",
    "NOT (i & 3 IS NULL)",
    "COALESCE(1 & 3, i) IS NOT NULL",
    "COALESCE(NOT TRUE, a)",
    "(TRUE IS TRUE) IS NOT NULL",
    "(1 <=> 2) IS NULL OR a",
    "NOT (a AND NOT b)",
    "NOT (a OR b)",
    "i = j",
    "NOT i <> j",
    "NOT i < j",
    "i >= j AND NOT (i > j OR a)",
    "i IN (1, 2)",
    "NOT i IN (1, NULL)",
    "i IN (j, 1)",
    "NOT i IN (j, NULL)",
    "i BETWEEN j AND 2",
    "NOT i BETWEEN 1 AND j",
    "i IS NULL OR a",
    "NOT (i IS NOT NULL)",
    "i <=> j",
    "NOT i <=> j",
    "a IS TRUE",
    "NOT a IS FALSE",
    "CASE WHEN a THEN b ELSE i = 1 END",
    "NOT CASE WHEN a THEN b END",
    "COALESCE(a, b, i > j)",
    "NOT COALESCE(a, b)",
    "NOT STARTS_WITH(CAST(i AS string), '1')",
    "TRUE",
    "NOT NULL",
    "a AND NULL",
    "NOT (a OR NULL)",
]


def predicate(condition: str) -> Expression:
    found = make_plan(f"SELECT * FROM t WHERE {condition}", COLUMNS).predicate
    assert found is not None
    return found


def compiled(code: ast.expr, coder: Coder) -> Any:
    return compile(ast.fix_missing_locations(ast.Expression(code)), "code", "eval"), coder.scope


def answers(condition: str, how: str) -> list[Any]:
    coder = Coder({("column", column): name(column) for column in "abij"})
    code, scope = compiled(getattr(coder, how)(predicate(condition)), coder)
    rows = itertools.product([True, False, None], [True, False, None], [1, 3, None], [1, 2, None])
    return [eval(code, {**scope, **dict(zip("abij", row, strict=True))}) for row in rows]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_true_and_false_are_what_the_value_says(condition: str) -> None:
    found = answers(condition, "value")
    assert set(found) <= {True, False, None}
    assert [bool(answer) for answer in answers(condition, "true")] == [value is True for value in found]
    assert [bool(answer) for answer in answers(condition, "false")] == [value is False for value in found]


def test_texts_of_the_statement_are_constants_only() -> None:
    evil = "__import__(name).abort()"
    found = make_plan(
        f"SELECT 'x' AS x FROM t WHERE s = '{evil}' AND s LIKE '{evil}%' OR `{evil}` = 1",
        f"s string, `{evil}` int",
    )
    coder = Coder({("column", "s"): name("s"), ("column", evil): name("c")})
    assert found.predicate is not None
    for node in ast.walk(coder.true(found.predicate)):
        assert not isinstance(node, ast.Name) or node.id.isidentifier()
        assert not isinstance(node, ast.Attribute) or node.attr.isidentifier()
        assert not isinstance(node, ast.Constant) or node.value is None or isinstance(node.value, (str, int))


def test_an_object_is_kept_once() -> None:
    coder, thing = Coder({}), object()
    first, second = coder.keep(thing), coder.keep(thing)
    assert isinstance(first, ast.Name)
    assert isinstance(second, ast.Name)
    assert (first.id, coder.scope) == (second.id, {first.id: thing})


def test_the_greatest_statement_compiles() -> None:
    branches = " ".join(f"WHEN i = {number} THEN {number}" for number in range(240))
    coder = Coder({("column", "i"): name("i")})
    plan = make_plan(f"SELECT CASE {branches} END AS x FROM t", COLUMNS)
    assert plan.output is not None
    code, scope = compiled(coder.value(plan.output[0].expression), coder)
    assert eval(code, {**scope, "i": 239}) == 239
