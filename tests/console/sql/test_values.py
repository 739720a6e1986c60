"""Literals of INSERT become values of columns, or are refused with what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import UsageError
from console.sql.insert import Reader
from console.sql.values import cell_of, value_of
from tests.broker.gateway import START_MS
from views.columns import parse_columns

DAY_MS = 86_400_000


def read(text: str, kind: str) -> Any:
    return value_of(Reader(text).read, parse_columns(f"c {kind}").declared[0], START_MS)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("NULL", "int", None),
        ("-7", "int", -7),
        ("0x1F", "bigint", 31),
        ("127", "tinyint", 127),
        ("10.30000", "float", 10.3),
        ("-1e3", "double", -1000.0),
        ("5", "double", 5.0),
        ("true", "bool", True),
        ("0", "bool", False),
        ("'it''s'", "string", "it's"),
        ('"NULL"', "varchar(4)", "NULL"),
        ("'äöü'", "nchar(3)", "äöü"),
        ("1538548685000", "timestamp", 1538548685000),
        ("-1", "timestamp", -1),
        ("'2018-10-03 14:38:05.000'", "timestamp", 1538577485000),
        ("'2018-10-03T14:38:05.000123+08:00'", "timestamp(us)", 1538548685000123),
        ("NOW", "timestamp", START_MS),
        ("now()", "timestamp(ns)", START_MS * 1_000_000),
        ("NOW - 1h + 30m", "timestamp", START_MS - 1_800_000),
        ("now+1s", "timestamp", START_MS + 1000),
        ("TODAY", "timestamp", START_MS - START_MS % DAY_MS),
        ("TODAY() + 8h", "timestamp", START_MS - START_MS % DAY_MS + 8 * 3_600_000),
        ("'{\"a\": [1]}'", "json", {"a": [1]}),
    ],
)
def test_literals_are_read(text: str, kind: str, value: Any) -> None:
    found = read(text, kind)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("128", "tinyint", "between -128 and 127"),
        ("-1", "int unsigned", "between 0 and"),
        ("1.5", "int", "is not a value of column 'c int'"),
        ("x", "int", "is not a value"),
        ("inf", "double", "finite"),
        ("'no'", "bool", "write TRUE or FALSE"),
        ("2", "bool", "write TRUE or FALSE"),
        ("abc", "string", "text is put in quotes"),
        ("'abcde'", "varchar(4)", "it has 5 characters, and at most 4"),
        ("'yesterday'", "timestamp", "write it like '2026-01-31 23:59:59.123'"),
        ("NOW - 1n", "timestamp", "as in NOW - 1h"),
        ("NOW 1h", "timestamp", "is not a value"),
        ("'{'", "json", "is not a value"),
        ("{}", "json", "JSON is put in quotes"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_column(text: str, kind: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(text, kind)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("cell", "kind", "value"),
    [
        ("", "int", None),
        ("NULL", "string", None),
        ("7", "int", 7),
        ("7", "string", "7"),
        ("1538548685000", "timestamp", 1538548685000),
        ("2018-10-03 14:38:05", "timestamp", 1538577485000),
        ("true", "bool", True),
    ],
)
def test_cells_of_csv_are_read_by_the_type_of_their_column(cell: str, kind: str, value: Any) -> None:
    assert cell_of(cell, parse_columns(f"c {kind}").declared[0]) == value


def test_a_cell_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="'x' is not a value of column 'c int'"):
        cell_of("x", parse_columns("c int").declared[0])
