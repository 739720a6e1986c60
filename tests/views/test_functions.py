"""The functions of the table: the result of each, and NULL for NULL."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.views.rows import evaluate, make_plan, make_view, records, run, values
from views.column_types import Kind
from views.errors import ColumnsProblem, NotAllowed, TypeProblem, ViewError
from views.functions import FUNCTIONS
from views.functions_special import SPECIAL

COLUMNS = "i bigint, d double, s string"


@pytest.mark.parametrize(
    ("expression", "row", "value"),
    [
        ("ASCII(s)", {"s": "é"}, 233),
        ("ASCII(s)", {"s": ""}, 0),
        ("CHAR(i)", {"i": 128512}, "😀"),
        ("CHR(i)", {"i": 0xD800}, None),
        ("CHAR(i)", {"i": 2**40}, None),
        ("CHAR_LENGTH(s)", {"s": "é😀"}, 2),
        ("LENGTH(s)", {"s": "é😀"}, 6),
        ("CONCAT(s, 'x', s)", {"s": "é"}, "éxé"),
        ("CONCAT(s, 'x')", {}, None),
        ("CONCAT_WS('-', s, NULL, 'b')", {"s": "a"}, "a-b"),
        ("CONCAT_WS(s, 'a', 'b')", {}, None),
        ("CONCAT_WS('-', s)", {}, ""),
        ("STARTS_WITH(s, 'a')", {"s": "ab"}, True),
        ("ENDS_WITH(s, 'a')", {"s": "ab"}, False),
        ("INSTR(s, 'b')", {"s": "ab"}, 2),
        ("LOCATE('b', s)", {"s": "aa"}, 0),
        ("POSITION('', s)", {"s": "aa"}, 1),
        ("LEFT(s, 2)", {"s": "éàü"}, "éà"),
        ("LEFT(s, -1)", {"s": "abc"}, ""),
        ("RIGHT(s, 2)", {"s": "éàü"}, "àü"),
        ("RIGHT(s, 0)", {"s": "abc"}, ""),
        ("LOWER(s)", {"s": "ÀB"}, "àb"),
        ("UPPER(s)", {"s": "àb"}, "ÀB"),
        ("LPAD(s, 5, 'xy')", {"s": "ab"}, "xyxab"),
        ("LPAD(s, 1)", {"s": "ab"}, "a"),
        ("LPAD(s, 5, '')", {"s": "ab"}, None),
        ("LPAD(s, -1)", {"s": "ab"}, None),
        ("LPAD(s, 999999)", {"s": "ab"}, None),
        ("RPAD(s, 4)", {"s": "ab"}, "ab  "),
        ("RPAD(s, 999999, 'x')", {"s": "ab"}, None),
        ("LTRIM(s)", {"s": "  a "}, "a "),
        ("RTRIM(s, 'x ')", {"s": " ax x"}, " a"),
        ("TRIM(s)", {"s": " a\t"}, "a\t"),
        ("TRIM(s, '')", {"s": " a"}, " a"),
        ("REPEAT(s, 3)", {"s": "ab"}, "ababab"),
        ("REPEAT(s, -3)", {"s": "ab"}, ""),
        ("REPEAT(s, 1000000)", {"s": "ab"}, None),
        ("REPLACE(s, 'a', 'bc')", {"s": "aa"}, "bcbc"),
        ("REPLACE(s, '', 'x')", {"s": "aa"}, "aa"),
        ("REPLACE(s, 'a', REPEAT('x', 60000))", {"s": "aa"}, None),
        ("REVERSE(s)", {"s": "abc"}, "cba"),
        ("SPLIT_PART(s, ',', -1)", {"s": "a,b"}, "b"),
        ("SPLIT_PART(s, ',', 0)", {"s": "a,b"}, ""),
        ("SPLIT_PART(s, '', 1)", {"s": "a,b"}, "a,b"),
        ("SUBSTR(s, 2)", {"s": "éàü"}, "àü"),
        ("SUBSTRING(s, -2, 1)", {"s": "abc"}, "b"),
        ("SUBSTR(s, 0)", {"s": "abc"}, ""),
        ("SUBSTR(s, -9)", {"s": "abc"}, ""),
        ("SUBSTR(s, 2, -1)", {"s": "abc"}, ""),
        ("SUBSTRING_INDEX(s, '.', 2)", {"s": "a.b.c"}, "a.b"),
        ("SUBSTRING_INDEX(s, '.', -2)", {"s": "a.b.c"}, "b.c"),
        ("SUBSTRING_INDEX(s, '', 2)", {"s": "a.b.c"}, ""),
        ("ABS(i)", {"i": -(2**63)}, None),
        ("ABS(i)", {"i": -5}, 5),
        ("ABS(d)", {"d": -5.5}, 5.5),
        ("CEIL(d)", {"d": -5.5}, -5.0),
        ("CEILING(i)", {"i": 5}, 5),
        ("FLOOR(d)", {"d": -5.5}, -6.0),
        ("FLOOR(d)", {"d": 1e300}, 1e300),
        ("ROUND(d)", {"d": -2.5}, -3.0),
        ("ROUND(d, 2)", {"d": 2.675}, 2.68),
        ("ROUND(d, -2)", {"d": 1250.0}, 1300.0),
        ("ROUND(d, 400)", {"d": 1.5}, 1.5),
        ("ROUND(d, -400)", {"d": 1.5}, 0.0),
        ("ROUND(i, -1)", {"i": -15}, -20),
        ("ROUND(i, -19)", {"i": 2**63 - 1}, None),
        ("ROUND(i, 5)", {"i": 7}, 7),
        ("TRUNC(d, 1)", {"d": -2.79}, -2.7),
        ("TRUNCATE(i, -2)", {"i": -299}, -200),
        ("MOD(i, 0)", {"i": 5}, None),
        ("MOD(d, 2)", {"d": -5.5}, -1.5),
        ("SIGN(d)", {"d": -0.5}, -1),
        ("SQRT(d)", {"d": -1.0}, None),
        ("SQRT(i)", {"i": 9}, 3.0),
        ("POW(d, 2)", {"d": 1e200}, None),
        ("POWER(-8, d)", {"d": 0.5}, None),
        ("POW(0, d)", {"d": -1.0}, None),
        ("EXP(d)", {"d": 1000.0}, None),
        ("LN(d)", {"d": 0.0}, None),
        ("LOG(d)", {"d": math.e}, 1.0),
        ("LOG(8, d)", {"d": 1.0}, None),
        ("LOG2(d)", {"d": 8.0}, 3.0),
        ("LOG10(d)", {"d": 1000.0}, 3.0),
        ("SIN(d)", {"d": 0.0}, 0.0),
        ("COS(d)", {"d": 0.0}, 1.0),
        ("TAN(d)", {"d": 0.0}, 0.0),
        ("ASIN(d)", {"d": 2.0}, None),
        ("ACOS(d)", {"d": 1.0}, 0.0),
        ("ATAN(d)", {"d": 0.0}, 0.0),
        ("ATAN2(d, 1)", {"d": 0.0}, 0.0),
        ("DEGREES(d)", {"d": math.pi}, 180.0),
        ("RADIANS(d)", {"d": 180.0}, math.pi),
    ],
)
def test_functions_have_a_value_or_are_null(expression: str, row: dict[str, Any], value: Any) -> None:
    found = evaluate(expression, row, COLUMNS)
    assert found == (pytest.approx(value) if isinstance(value, float) else value)
    assert type(found) is type(value)


def arguments(letters: str, value: str) -> str:
    required, _, optional = letters.partition("?")
    return ", ".join([value] * len(required.rstrip("*") + optional))


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if not function.takes_null])
def test_every_function_is_null_when_its_arguments_are(name: str) -> None:
    assert evaluate(f"{name}({arguments(FUNCTIONS[name].arguments, 'NULL')})") is None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_takes_columns_of_the_types_of_its_line(name: str) -> None:
    letters = FUNCTIONS[name].arguments.replace("?", "").replace("*", "")
    columns = {"s": "s", "i": "i", "n": "d", "d": "d"}
    args = ", ".join(columns[letter] for letter in letters)
    for row in (
        {"i": 2, "d": 1.5, "s": "ab"},
        {"i": -(2**63), "d": -1e308, "s": ""},
        {"i": 2**63 - 1, "d": 5e-324},
    ):
        evaluate(f"{name}({args})", row, COLUMNS)


def test_functions_of_numbers_give_integers_for_integers() -> None:
    for name in ("ABS", "CEIL", "FLOOR", "ROUND", "TRUNC"):
        for column, kind in (("i", Kind.INT), ("d", Kind.DOUBLE)):
            plan = make_plan(f"SELECT {name}({column}) AS x FROM t", COLUMNS)
            assert plan.output is not None
            assert plan.output[0].expression.type.kind is kind


def test_the_documentation_has_every_function() -> None:
    text = (Path(__file__).parents[2] / "docs" / "views.md").read_text()
    known = {*FUNCTIONS, *SPECIAL}
    assert sorted(name for name in known if not re.search(rf"\b{name}\b", text, re.IGNORECASE)) == []


def test_letters_are_mapped_by_the_full_rules_and_compared_by_those_for_single_characters() -> None:
    mapped = "LOWER(s) AS low, UPPER('ß') AS up"
    compared = "s ILIKE 'i%' AS i, s ILIKE 'İ' AS same, 'K' ILIKE 'k' AS k"
    view = make_view(f"SELECT {mapped}, {compared} FROM t", "s string")
    assert values(run(view, records({"s": "İ"}))) == [
        {"low": "i̇", "up": "SS", "i": False, "same": True, "k": True}
    ]


def test_integers_may_be_hexadecimal() -> None:
    view = make_view(
        "SELECT 0x10 AS a, n+0xfF AS b, -0X1 AS c FROM `0x10` WHERE n < 0x7fffffffffffffff", "n int"
    )
    assert values(run(view, records({"n": 1}))) == [{"a": 16, "b": 256, "c": -1}]
    assert make_plan("SELECT n FROM 0x10-0xff", "n int").statement.source == "0x10-0xff"
    with pytest.raises(TypeProblem, match="0x8000000000000000 is larger than a bigint"):
        make_view("SELECT 0x8000000000000000 AS a FROM t", "n int")
    for wrong in ("0x", "0xG", "0x1_0"):
        with pytest.raises(ViewError, match=wrong):
            make_view(f"SELECT {wrong} + n AS a FROM t", "n int")


def test_a_length_that_a_text_cannot_have_is_told_with_those_it_can() -> None:
    with pytest.raises(
        NotAllowed, match=r"varchar\(0\) is not possible: its length is a number from 1 to 65,517"
    ):
        make_view("SELECT CAST(n AS varchar(0)) AS a FROM t", "n int")
    with pytest.raises(ColumnsProblem, match="its length is a number from 1 to"):
        make_view("SELECT n FROM t", "n varchar(99999)")
