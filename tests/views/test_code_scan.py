"""The generated loops read what the plan needs and no more."""

from __future__ import annotations

import ast

import pytest

from tests.views.rows import encoded, make_plan, make_view, records, run, values
from views.code_scan import compile_function, row_scan_source, scan_source

NEEDS = ["value", "key", "headers", "tags", "timestamp", "offset", "partition"]


@pytest.mark.parametrize("write", [scan_source, row_scan_source])
@pytest.mark.parametrize("filters", [True, False])
@pytest.mark.parametrize("projects", [True, False])
@pytest.mark.parametrize("need", [*NEEDS, None])
def test_every_loop_is_python(write: object, filters: bool, projects: bool, need: str | None) -> None:
    assert callable(write)
    needs = frozenset(NEEDS if need is None else [need])
    source = write(needs, loads=["a = 1"], decodes="value" in needs, filters=filters, projects=projects)
    codes: dict[str, ast.expr] = {"PREDICATE": ast.Constant(True), "VALUE": ast.Constant(None)}
    name = "scan" if write is scan_source else "scan_rows"
    assert compile_function(source, codes, {}, name).__name__ == name


def test_what_is_not_needed_is_not_decoded() -> None:
    source = scan_source(frozenset({"key"}), loads=[], decodes=False, filters=True, projects=False)
    assert "decode(" not in source
    assert "read_headers" not in source
    assert "rowts" not in source


def test_expressions_stand_where_their_names_stood() -> None:
    codes: dict[str, ast.expr] = {"PREDICATE": ast.Name("x", ast.Load()), "VALUE": ast.Name("y", ast.Load())}
    text = "def f(x, y):\n    for _ in 'a':\n        if not PREDICATE:\n            continue\n"
    text += "        y = str(VALUE)\n    return y"
    function = compile_function(text, codes, {}, "f")
    assert (function(True, 7), function(False, 7)) == ("7", 7)


@pytest.mark.parametrize("size", [0, 40, 63, 64, 100, 8_000, 8_191, 8_192, 20_000, 1_100_000])
def test_lengths_of_every_width_are_walked(size: int) -> None:
    given = records({"n": 1}, encoded({"n": 2, "s": "x" * size}), {"n": 3}, key=b"k" * (size % 9_000))
    for sql in ("SELECT n FROM t WHERE n <> 2", "SELECT n, _offset, _rowts, _key FROM t"):
        rows = values(run(make_view(sql, "n int"), given))
        assert [row["n"] for row in rows] == ([1, 3] if "<>" in sql else [1, 2, 3])
        if "_offset" in sql:
            assert [(row["_offset"], row["_rowts"]) for row in rows] == [(0, 1_000), (1, 1_001), (2, 1_002)]


def test_offsets_and_times_that_lie_far_apart_are_walked() -> None:
    given = [
        one._replace(offset=at * 1_000_000, timestamp_ms=(-1) ** at * at * 10**12)
        for at, one in enumerate(records({}, {}, {}))
    ]
    rows = values(run(make_view("SELECT _offset AS o, _rowts AS t FROM t", "n int"), given))
    assert [(row["o"], row["t"]) for row in rows] == [(one.offset, one.timestamp_ms) for one in given]
    assert make_plan("SELECT _offset FROM t").needs == {"offset"}


def test_members_whose_names_are_written_with_escapes_are_found() -> None:
    given = records(b'{"\\u006e":1,"\\u00e9":2}')
    assert values(run(make_view("SELECT n, `é` FROM t", "n int, `é` int"), given)) == [{"n": 1, "é": 2}]
