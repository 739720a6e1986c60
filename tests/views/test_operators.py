"""Operators at their edges: NULL, overflow, zero, and values of different kinds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.views.rows import evaluate

COLUMNS = "i bigint, k tinyint, d double, s string, t timestamp, u timestamp(ns), f bool, j json"
TOP, BOTTOM = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("expression", "row", "value"),
    [
        ("i + 1", {"i": TOP}, None),
        ("i - 1", {"i": BOTTOM}, None),
        ("i * 2", {"i": 2**62}, None),
        ("-i", {"i": BOTTOM}, None),
        ("-(-9223372036854775808)", {}, None),
        ("-9223372036854775808", {}, BOTTOM),
        ("i + 1 - 1", {"i": TOP}, None),
        ("i DIV -1", {"i": BOTTOM}, None),
        ("i DIV 2", {"i": -7}, -3),
        ("i DIV 0", {"i": 1}, None),
        ("i % 3", {"i": -7}, -1),
        ("i % -3", {"i": 7}, 1),
        ("i % 0", {"i": 7}, None),
        ("i / 2", {"i": 7}, 3.5),
        ("i / 0", {"i": 7}, None),
        ("d / 0.0", {"d": 7.5}, None),
        ("d % 0", {"d": 7.5}, None),
        ("d % 2", {"d": -7.5}, -1.5),
        ("d * 10", {"d": 1e308}, None),
        ("d + i", {"d": 0.5, "i": 2}, 2.5),
        ("k + k", {"k": 127}, 254),
        ("i & 12", {"i": 10}, 8),
        ("i | 5", {"i": -8}, -3),
        ("i ^ 1", {"i": -1}, -2),
        ("i + NULL", {"i": 1}, None),
        ("i + 1", {}, None),
        ("i + 1", {"i": None}, None),
        ("t + 1h", {"t": 0}, 3_600_000),
        ("1h + t", {"t": 0}, 3_600_000),
        ("t - 1d", {"t": 0}, -86_400_000),
        ("t + 5", {"t": 1}, 6),
        ("u + 5u", {"u": 1}, 5_001),
        ("t - t", {"t": 7}, 0),
        ("u - t", {"t": 7, "u": 7_000_001}, 1),
        ("t + 1", {"t": TOP}, None),
        ("u - t", {"t": TOP, "u": 0}, None),
        ("COALESCE(t, u)", {"t": TOP}, None),
        ("COALESCE(t, u)", {"t": 1, "u": 5}, 1_000_000),
    ],
)
def test_arithmetic_has_a_value_or_is_null(expression: str, row: dict[str, Any], value: Any) -> None:
    assert evaluate(expression, row, COLUMNS) == value


T, F, N = True, False, None


@pytest.mark.parametrize(
    ("left", "right", "conjunction", "disjunction"),
    [
        (T, T, T, T),
        (T, F, F, T),
        (T, N, N, T),
        (F, F, F, F),
        (F, N, F, N),
        (N, N, N, N),
        (F, T, F, T),
        (N, T, N, T),
        (N, F, F, N),
    ],
)
def test_and_and_or_have_three_values(left: Any, right: Any, conjunction: Any, disjunction: Any) -> None:
    row, columns = {"a": left, "b": right}, "a bool, b bool"
    assert evaluate("a AND b", row, columns) is conjunction
    assert evaluate("a OR b", row, columns) is disjunction
    assert evaluate("NOT a", row, columns) is (None if left is None else not left)
    assert evaluate("a <=> b", row, columns) is (left is right)
    assert evaluate("a = b", row, columns) is (None if None in (left, right) else left is right)


@pytest.mark.parametrize(
    ("expression", "row", "value"),
    [
        ("i = 1.0", {"i": 1}, True),
        ("i > d", {"i": 2**53 + 1, "d": 2.0**53}, True),
        ("i = d", {"i": TOP, "d": 2.0**63}, False),
        ("s < 'é'", {"s": "z"}, True),
        ("s = 'A'", {"s": "a"}, False),
        ("s > '\uffff'", {"s": "😀"}, True),
        ("f = TRUE", {"f": True}, True),
        ("f < TRUE", {"f": False}, True),
        ("i IN (1, 2, NULL)", {"i": 2}, True),
        ("i IN (1, 2, NULL)", {"i": 3}, None),
        ("i NOT IN (1, 2, NULL)", {"i": 3}, None),
        ("i NOT IN (1, 2)", {"i": 3}, True),
        ("i IN (1)", {}, None),
        ("i IN (1.0, 2.5)", {"i": 1}, True),
        ("i IN (k, 9)", {"i": 9}, True),
        ("i IN (k, 8)", {"i": 9}, None),
        ("i BETWEEN 3 AND 1", {"i": 2}, False),
        ("i BETWEEN NULL AND 1", {"i": 2}, False),
        ("i BETWEEN NULL AND 3", {"i": 2}, None),
        ("i NOT BETWEEN 1 AND 3", {"i": 4}, True),
        ("i IS NULL", {}, True),
        ("i IS NOT NULL", {}, False),
        ("f IS TRUE", {}, False),
        ("f IS NOT TRUE", {}, True),
        ("f IS FALSE", {"f": False}, True),
        ("NULL IS NULL", {}, True),
        ("i = NULL", {"i": 1}, None),
        ("i IS DISTINCT FROM NULL", {"i": 1}, True),
        ("i IS NOT DISTINCT FROM NULL", {}, True),
        ("t = '1970-01-01'", {"t": 0}, True),
        ("t > '1970-01-01T00:00:00+01:00'", {"t": 0}, True),
        ("t < u", {"t": TOP, "u": TOP}, False),
        ("CASE i WHEN NULL THEN 1 ELSE 2 END", {}, 2),
        ("CASE i WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", {"i": 2}, "b"),
        ("CASE WHEN f THEN 1 END", {}, None),
        ("CASE WHEN f THEN 1 ELSE 2.5 END", {"f": True}, 1.0),
        ("CASE WHEN NULL THEN 1 ELSE 2 END", {}, 2),
        ("j->'a'->'b'", {"j": {"a": {"b": [1]}}}, [1]),
        ("j->'a'", {"j": [1]}, None),
        ("j->'a'", {"j": {"a": None}}, None),
        ("j CONTAINS 'a'", {"j": {"a": None}}, True),
        ("j CONTAINS 'b'", {"j": "b"}, False),
        ("j IS NULL", {"j": None}, True),
    ],
)
def test_comparisons_and_choices_know_null(expression: str, row: dict[str, Any], value: Any) -> None:
    found = evaluate(expression, row, COLUMNS)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "row", "value"),
    [
        ("CAST(d AS int)", {"d": -2.9}, -2),
        ("CAST(d AS bigint)", {"d": 1e19}, None),
        ("CAST(i AS tinyint)", {"i": 128}, None),
        ("CAST(i AS tinyint unsigned)", {"i": -1}, None),
        ("CAST(s AS int)", {"s": " 12 "}, 12),
        ("CAST(s AS int)", {"s": "1.9e1"}, 19),
        ("CAST(s AS int)", {"s": "12x"}, None),
        ("CAST(s AS bigint)", {"s": str(TOP)}, TOP),
        ("CAST(s AS bigint)", {"s": "9" * 400}, None),
        ("CAST(s AS double)", {"s": "1e400"}, None),
        ("CAST(s AS double)", {"s": "nan"}, None),
        ("CAST(s AS double)", {"s": "1_000"}, None),
        ("CAST(s AS double)", {"s": "٣"}, None),
        ("CAST(s AS bool)", {"s": "TRUE "}, True),
        ("CAST(s AS bool)", {"s": "1"}, None),
        ("CAST(d AS string)", {"d": 1e16}, "1e16"),
        ("CAST(d AS string)", {"d": 5.0}, "5.0"),
        ("CAST(f AS string)", {"f": True}, "true"),
        ("CAST(t AS string)", {"t": 5}, "1970-01-01T00:00:00.005Z"),
        ("CAST(u AS varchar(4))", {"u": 5}, "1970"),
        ("CAST(s AS nchar(2))", {"s": "éàü"}, "éà"),
        ("CAST(s AS timestamp)", {"s": "1970-01-01 00:00:01"}, 1_000),
        ("CAST(t AS timestamp(ns))", {"t": 5}, 5_000_000),
        ("CAST(t AS timestamp(ns))", {"t": TOP}, None),
        ("CAST(u AS timestamp)", {"u": -1}, -1),
        ("CAST(i AS timestamp)", {"i": 5}, 5),
        ("CAST(t AS bigint)", {"t": 5}, 5),
        ("CAST(j AS double)", {"j": 5}, 5.0),
        ("CAST(j AS string)", {"j": "x\n"}, "x\n"),
        ("CAST(j AS string)", {"j": {"a": 1}}, '{"a": 1}'),
        ("CAST(j AS int)", {"j": {"a": 1}}, None),
        ("CAST(j->'a' AS bool)", {"j": {"a": "true"}}, True),
        ("CAST(NULL AS int)", {}, None),
        ("CAST(i AS double)", {"i": TOP}, 2.0**63),
    ],
)
def test_casts_have_a_value_or_are_null(expression: str, row: dict[str, Any], value: Any) -> None:
    found = evaluate(expression, row, COLUMNS)
    assert found == value
    assert type(found) is type(value)
