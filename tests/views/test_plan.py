"""Plans: their schema, their needs, and that text and schema make the same plan again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.views.rows import METERS, make_plan, records, run, values
from views.bounds import Bounds
from views.columns import parse_columns
from views.errors import ColumnsProblem, NotAllowed, ViewError
from views.evaluator import build_evaluator
from views.plan import UnfitPlan, restore_plan


def test_the_schema_has_the_columns_of_the_result_and_those_that_are_read() -> None:
    plan = make_plan("SELECT ts, current * voltage AS power, tbname, location FROM m WHERE live")
    assert plan.schema == {
        "version": 1,
        "columns": [
            {"name": "ts", "type": "timestamp(ms)"},
            {"name": "power", "type": "double"},
            {"name": "tbname", "type": "string"},
            {"name": "location", "type": "string"},
        ],
        "uses": [
            {"name": "ts", "type": "timestamp(ms)", "tag": False},
            {"name": "current", "type": "double", "tag": False},
            {"name": "voltage", "type": "int", "tag": False},
            {"name": "location", "type": "string", "tag": True},
            {"name": "live", "type": "bool", "tag": False},
        ],
    }
    assert plan.used_columns == {"ts", "current", "voltage", "location", "live"}


STATEMENTS = [
    "SELECT * FROM m",
    "SELECT * FROM m WHERE voltage > 3 AND header('x') IS NOT NULL",
    "SELECT *, voltage + 1 AS more FROM m",
    "SELECT VOLTAGE, payload->'a' FROM m x WHERE x.live IS NOT FALSE",
    "SELECT _key, _offset AS o, TO_ISO8601(_rowts, 'Europe/Berlin') FROM m",
    "STABLE m WHERE location LIKE 'a%' WITH META",
    "DATABASE power",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_text_and_schema_make_the_same_plan_again(sql: str) -> None:
    plan = make_plan(sql)
    again = restore_plan(plan.statement.text, json.loads(json.dumps(plan.schema)))
    assert (again.schema, again.needs, again.uses, again.bounds) == (
        plan.schema,
        plan.needs,
        plan.uses,
        plan.bounds,
    )
    assert again.statement == plan.statement
    given = records(
        {"voltage": 4, "live": True, "payload": {"a": 1}, "location": "abc", "ts": 1}, {"voltage": 5}
    )
    assert run(build_evaluator(again), given) == run(build_evaluator(plan), given)


def test_columns_that_come_later_do_not_change_a_plan_that_has_been_stored() -> None:
    plan = make_plan("SELECT *, 1 AS one FROM m", "a int, b int")
    later = restore_plan(plan.statement.text, plan.schema)
    assert values(run(build_evaluator(later), records({"a": 1, "b": 2, "c": 3}))) == [
        {"a": 1, "b": 2, "one": 1}
    ]
    assert later.conflicts_with(parse_columns("a int, b int, c int")) == []


def test_a_change_of_a_column_that_is_read_is_a_conflict() -> None:
    plan = make_plan("SELECT a FROM m WHERE b > 1 AND t = 'x'", "a int, b int, c int, t string tag")
    assert plan.conflicts_with(parse_columns("a int, b int, t string tag")) == []
    assert plan.conflicts_with(parse_columns("a bigint, B int, t string")) == [
        "column 'a' would change from 'a int' to 'a bigint', but the view reads it",
        "column 'b' would be dropped, but the view reads it",
        "column 't' would change from 't string tag' to 't string', but the view reads it",
    ]
    assert len(plan.conflicts_with(None)) == 3


@pytest.mark.parametrize(
    ("sql", "needs"),
    [
        ("SELECT * FROM m", set()),
        ("SELECT voltage FROM m", {"value"}),
        ("SELECT * FROM m WHERE _key = 'a'", {"key"}),
        ("SELECT location FROM m", {"value", "key", "headers", "tags"}),
        ("SELECT header('x') FROM m", {"headers"}),
        ("SELECT _rowts, _offset, _partition FROM m", {"timestamp", "offset", "partition"}),
        ("SELECT 1 AS one FROM m", set()),
    ],
)
def test_only_what_is_needed_is_read(sql: str, needs: set[str]) -> None:
    assert make_plan(sql).needs == needs


def test_columns_are_called_as_they_are_declared_and_only_once() -> None:
    plan = make_plan("SELECT VOLTAGE, m.current, TBNAME, voltage + 1 FROM m")
    assert plan.output is not None
    assert [column.name for column in plan.output] == ["voltage", "current", "tbname", "voltage + 1"]
    for sql in ("SELECT voltage, VOLTAGE FROM m", "SELECT *, voltage FROM m", "SELECT 1 AS a, 2 AS a FROM m"):
        with pytest.raises(NotAllowed, match="two columns of the view are called"):
            make_plan(sql)


def test_a_star_beside_others_needs_declared_columns() -> None:
    assert make_plan("SELECT * FROM m", None).is_identity
    with pytest.raises(NotAllowed, match="needs kawal"):
        make_plan("SELECT *, _key FROM m", None)


def test_a_star_does_not_stand_for_more_columns_than_a_view_may_have() -> None:
    columns = ", ".join(f"c{number} int" for number in range(1_001))
    assert make_plan("SELECT * FROM m", columns).is_identity
    with pytest.raises(NotAllowed, match="1002 columns; at most 1000"):
        make_plan("SELECT *, 1 AS one FROM m", columns)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"version": 2, "columns": None, "uses": []},
        {"version": 1, "columns": None},
        {"version": 1, "columns": None, "uses": [{"name": "a"}]},
        {"version": 1, "columns": None, "uses": [{"name": "a", "type": "nope", "tag": False}]},
        {"version": 1, "columns": None, "uses": [7]},
        {"version": 1, "columns": None, "uses": None},
    ],
)
def test_a_damaged_schema_is_a_view_error(schema: dict[str, Any]) -> None:
    with pytest.raises(ViewError):
        restore_plan("SELECT a FROM m", schema)
    with pytest.raises(ColumnsProblem):
        restore_plan("SELECT * FROM m", {"version": 9})


def test_a_column_may_be_declared_in_any_words() -> None:
    plan = make_plan("SELECT `we ird``` FROM m", METERS + ", `we ird``` int")
    assert restore_plan(plan.statement.text, plan.schema).used_columns == {"we ird`"}


def test_a_plan_of_what_does_not_fit_looks_at_all_columns_or_at_those_that_are_named() -> None:
    plan = make_plan("UNFIT m", "a int, b string, c json tag")
    assert isinstance(plan, UnfitPlan)
    assert (plan.output, plan.where) == (None, None)
    assert plan.used_columns == {"a", "b", "c"}
    assert plan.needs == {"value", "key", "headers"}
    assert plan.schema["columns"] is None
    some = make_plan("UNFIT m (B, a) WHERE tbname = 'x' AND _offset > 5", "a int, b string, c json tag")
    assert [column.name for column in some.uses] == ["a", "b"]
    assert some.needs == {"value"}
    assert some.bounds == Bounds(min_offset=6, keys=frozenset({"x"}))


def test_a_plan_of_what_does_not_fit_is_restored_with_the_columns_it_had() -> None:
    for text in ("UNFIT m", "UNFIT m (a) WHERE tbname = 'x'"):
        plan = make_plan(text, "a int, `odd name` json tag")
        again = restore_plan(plan.statement.text, json.loads(json.dumps(plan.schema)))
        assert (again, hash(again)) == (plan, hash(plan))
    assert make_plan("UNFIT m", "a int") != make_plan("UNFIT m", "a bigint")


@pytest.mark.parametrize(
    ("text", "columns", "problem"),
    [
        ("UNFIT m", None, "'m' declares none; set kawal.columns"),
        ("UNFIT m (b)", "a int", "column 'b' is unknown; the source declares a"),
        ("UNFIT m (a, A)", "a int", "column 'A' is named twice"),
        ("UNFIT m WHERE a = 1", "a int", "column 'a': after UNFIT, WHERE takes _rowts"),
        ("UNFIT m WHERE a = 1", "a int tag", "column 'a': after UNFIT"),
        ("UNFIT m WHERE zz = 1", "a int", "column 'zz': after UNFIT"),
        ("UNFIT m WHERE 1", "a int", "WHERE needs a condition"),
        (
            "UNFIT m",
            ", ".join(f"c{n} int" for n in range(1_001)),
            "declares 1001 columns, and UNFIT looks at",
        ),
    ],
)
def test_what_cannot_be_a_plan_of_what_does_not_fit_is_told(
    text: str, columns: str | None, problem: str
) -> None:
    with pytest.raises(ViewError, match=re.escape(problem)):
        make_plan(text, columns)
