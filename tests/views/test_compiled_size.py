"""The estimate of what a compiled statement takes is not below what is measured, nor far above it."""

from __future__ import annotations

import gc
import tracemalloc
from statistics import median
from typing import Any
from weakref import ref

import pytest

from views.columns import parse_columns
from views.compiled_size import JUDGE_BYTES, compiled_bytes
from views.evaluator import Evaluator, build_evaluator
from views.plan import plan_view
from views.statement import parse_view

COLUMNS = "id bigint, a string, d double, city string tag"
STATEMENTS = {
    "simple": "SELECT id FROM t WHERE id = 1",
    "tags": "SELECT id, city FROM t WHERE city = 'Porto'",
    "names": "SELECT id FROM t WHERE a IN ({})".format(", ".join(f"'name {at}'" for at in range(300))),
    "conditions": "SELECT id FROM t WHERE " + " OR ".join(f"id = {at * 7}" for at in range(150)),
    "functions": "SELECT "
    + ", ".join(f"UPPER(SUBSTR(a, {at}, 2)) AS x{at}" for at in range(1, 40))
    + " FROM t",
    "text": f"SELECT id FROM t WHERE a = '{'x' * 10_000}'",
}
PATTERNS = "SELECT id FROM t WHERE a MATCH 'x[ab]{30}c' OR a LIKE '%x______________%'"


def evaluator(statement: str) -> Evaluator:
    return build_evaluator(plan_view(parse_view(statement), parse_columns(COLUMNS)))


def measured_bytes(statement: str) -> float:
    """Return what a compiled statement takes: the median of some, as one may make a shared table grow."""
    sizes = []
    gc.freeze()  # what is there already is not looked at each time: a test process may have gigabytes
    for _ in range(5):
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        kept = evaluator(statement)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0] - before)
        tracemalloc.stop()
        del kept
    gc.unfreeze()
    return median(sizes)


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_estimate_is_between_what_is_measured_and_four_times_as_much(name: str) -> None:
    statement = STATEMENTS[name]
    size_bytes = evaluator(statement).size_bytes
    assert size_bytes == evaluator(statement).size_bytes
    measured = measured_bytes(statement)
    assert measured <= size_bytes <= 4 * measured


@pytest.mark.parametrize("statement", [*STATEMENTS.values(), PATTERNS, "UNFIT t WHERE _offset > 3"])
def test_an_evaluator_is_freed_with_its_last_reference_without_the_collector(statement: str) -> None:
    evaluator(statement)
    gc.disable()
    try:
        made = evaluator(statement)
        parts: list[ref[Any]] = [ref(made), ref(made.scan), ref(made.plan)]
        del made
        assert [part() for part in parts] == [None] * 3
    finally:
        gc.enable()


def test_views_of_the_same_columns_take_the_same_types_of_rows() -> None:
    first, second = (evaluator(STATEMENTS["simple"]).scan for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.__globals__["EMPTY"].__class__ is second.__globals__["EMPTY"].__class__


def test_each_pattern_counts_once_by_its_program_and_its_states() -> None:
    one, other = ("a MATCH 'x[ab]{30}c'", "a MATCH 'y[ab]{30}c'")
    plain = evaluator("SELECT id FROM t WHERE a = 'x'").size_bytes
    with_one = evaluator(f"SELECT id FROM t WHERE {one}").size_bytes
    with_both = evaluator(f"SELECT id FROM t WHERE {one} OR {other}").size_bytes
    assert with_one > plain + (192 << 10)
    assert with_both > with_one + (192 << 10)


def test_an_unfit_statement_counts_what_judges_its_records() -> None:
    plan = plan_view(parse_view("UNFIT t"), parse_columns(COLUMNS))
    assert compiled_bytes(plan) > JUDGE_BYTES
