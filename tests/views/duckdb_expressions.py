"""Random expressions in two languages at once: ours, and the SQL of DuckDB that means the same.

DuckDB fails where ours is NULL (overflow, division by zero), lets doubles be infinite, and has its own type
for timestamps: here they are epoch milliseconds in BIGINT on its side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

BOOL, INT, DOUBLE, STRING, TIME = "b", "i", "d", "s", "t"
COLUMNS = {
    BOOL: ["b1", "b2"],
    INT: ["i1", "i2", "i3"],
    DOUBLE: ["d1", "d2"],
    STRING: ["s1", "s2"],
    TIME: ["t1", "t2"],
}
DECLARED = (
    "n int, b1 bool, b2 bool, i1 bigint, i2 int, i3 tinyint, d1 double, d2 float, s1 string, s2 varchar(40), "
    "t1 timestamp, t2 timestamp"
)
TEXTS = ["", "a", "ab", "A%", "é", "😀", "ab_c", "12", "-7.9", " 8 ", "true", "a,b,c", "zz\\z", "x'y"]
PATTERNS = ["%", "a%", "%b", "%é%", "_", "a_%", "%\\%", "%\\_c", "", "ab", "😀%", "%,_,%", "A\\%", "%z\\\\z"]


class Pair(NamedTuple):
    """One expression in both languages."""

    ours: str
    duck: str


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def alike(template: str, *args: Pair) -> Pair:
    return both(template, template, *args)


def both(ours: str, duck: str, *args: Pair) -> Pair:
    return Pair(ours.format(*(arg.ours for arg in args)), duck.format(*(arg.duck for arg in args)))


def finite(template: str, duck: str | None = None) -> Callable[..., Pair]:
    """Return the writer of a double that is NULL when it is infinite."""
    inner = duck or template
    return lambda *args: both(
        f"({template})", f"list_transform([{inner}], lambda x: CASE WHEN isfinite(x) THEN x END)[1]", *args
    )


def tried(template: str, duck: str | None = None) -> Callable[..., Pair]:
    return lambda *args: both(f"({template})", f"TRY({duck or template})", *args)


def same(template: str) -> Callable[..., Pair]:
    return lambda *args: alike(f"({template})", *args)


def mapped(ours: str, duck: str) -> Callable[..., Pair]:
    return lambda *args: both(ours, f"({duck})", *args)


def _date_part(name: str, duck: str) -> tuple[str, str, Callable[..., Pair]]:
    return (INT, TIME, mapped(f"{name}({{0}})", f"{duck}(make_timestamp({{0}} * 1000))::BIGINT"))


def _truncated(step: str, ms: int, first: int = 0) -> tuple[str, str, Callable[..., Pair]]:
    duck = f"{{0}} - ((({{0}} - {first}) % {ms}) + {ms}) % {ms}"
    return (TIME, TIME, mapped(f"TIMETRUNCATE({{0}}, {step})", duck))


BERLIN = "make_timestamp({0} * 1000) AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'"
DAY_IN_BERLIN = f"epoch_ms(date_trunc('day', {BERLIN})::TIMESTAMP AT TIME ZONE 'Europe/Berlin')"

# DuckDB rounds text with a point; as doubles, whole numbers would lose digits.
INTEGER_OF_TEXT = (
    r"CASE WHEN regexp_matches({0}, '^\s*[+-]?\d+\s*$') THEN TRY_CAST({0} AS BIGINT) "
    "ELSE TRY(trunc(TRY_CAST({0} AS DOUBLE))::BIGINT) END"
)

OPERATIONS: list[tuple[str, str, Callable[..., Pair]]] = [
    # Result, arguments, and how it is written.
    (INT, "ii", tried("{0} + {1}", "{0}::BIGINT + {1}::BIGINT")),
    (INT, "ii", tried("{0} - {1}", "{0}::BIGINT - {1}::BIGINT")),
    (INT, "ii", tried("{0} * {1}", "{0}::BIGINT * {1}::BIGINT")),
    (INT, "ii", tried("{0} % {1}", "{0}::BIGINT % (CASE {1} WHEN -1 THEN 1 ELSE {1} END)::BIGINT")),
    (INT, "ii", tried("{0} DIV {1}", "({0}::HUGEINT // {1}::HUGEINT)::BIGINT")),
    (INT, "i", tried("-{0}", "0::BIGINT - {0}::BIGINT")),
    (INT, "i", tried("ABS({0})", "abs({0}::BIGINT)")),
    (INT, "ii", same("{0} & {1}")),
    (INT, "ii", same("{0} | {1}")),
    (INT, "ii", mapped("({0} ^ {1})", "xor({0}::BIGINT, {1}::BIGINT)")),
    (INT, "i", mapped("SIGN({0})", "sign({0})::BIGINT")),
    (INT, "d", tried("CAST({0} AS bigint)", "trunc({0})::BIGINT")),
    (INT, "i", tried("CAST({0} AS tinyint)", "{0}::TINYINT")),
    (INT, "i", tried("CAST({0} AS int)", "{0}::INTEGER")),
    (INT, "b", mapped("CAST({0} AS int)", "{0}::INTEGER")),
    (INT, "s", mapped("CAST({0} AS bigint)", INTEGER_OF_TEXT)),
    (INT, "s", mapped("LENGTH({0})", "strlen({0})")),
    (INT, "s", mapped("CHAR_LENGTH({0})", "length({0})")),
    (INT, "ss", mapped("INSTR({0}, {1})", "instr({0}, {1})")),
    (INT, "ss", mapped("POSITION({0}, {1})", "instr({1}, {0})")),
    (INT, "s", mapped("ASCII({0})", "ascii({0})")),
    (INT, "tt", tried("{0} - {1}")),
    (INT, "tt", mapped("TIMEDIFF({0}, {1}, 1h)", "({0} - {1}) // 3600000")),
    _date_part("YEAR", "year"),
    _date_part("MONTH", "month"),
    _date_part("DAY", "day"),
    _date_part("HOUR", "hour"),
    _date_part("MINUTE", "minute"),
    _date_part("QUARTER", "quarter"),
    _date_part("WEEKOFYEAR", "weekofyear"),
    _date_part("DAYOFYEAR", "dayofyear"),
    (DOUBLE, "dd", finite("{0} + {1}")),
    (DOUBLE, "dd", finite("{0} - {1}")),
    (DOUBLE, "dd", finite("{0} * {1}")),
    (DOUBLE, "di", finite("{0} * {1}", "{0} * {1}::DOUBLE")),
    (DOUBLE, "dd", finite("{0} / {1}", "{0} / NULLIF({1}, 0)")),
    (DOUBLE, "ii", finite("{0} / {1}", "{0}::DOUBLE / NULLIF({1}::DOUBLE, 0)")),
    (DOUBLE, "dd", finite("{0} % {1}", "{0} % NULLIF({1}, 0)")),
    (DOUBLE, "d", same("-{0}")),
    (DOUBLE, "d", same("ABS({0})")),
    (DOUBLE, "d", same("FLOOR({0})")),
    (DOUBLE, "d", same("CEIL({0})")),
    (DOUBLE, "d", mapped("TRUNC({0})", "trunc({0})")),
    (DOUBLE, "d", mapped("ROUND({0})", "round({0})")),
    (DOUBLE, "d", finite("SQRT({0})", "sqrt(CASE WHEN {0} >= 0 THEN {0} END)")),
    (DOUBLE, "i", mapped("CAST({0} AS double)", "{0}::DOUBLE")),
    (DOUBLE, "s", mapped("CAST({0} AS double)", "TRY_CAST({0} AS DOUBLE)")),
    (STRING, "s", same("LOWER({0})")),
    (STRING, "s", same("UPPER({0})")),
    (STRING, "s", same("REVERSE({0})")),
    (STRING, "s", same("TRIM({0})")),
    (STRING, "s", same("LTRIM({0})")),
    (STRING, "s", same("RTRIM({0})")),
    (STRING, "ss", mapped("CONCAT({0}, {1})", "{0} || {1}")),
    (STRING, "ss", same("{0} || {1}")),
    (STRING, "ss", mapped("CONCAT_WS('-', {0}, {1})", "concat_ws('-', {0}, {1})")),
    (STRING, "sss", same("REPLACE({0}, {1}, {2})")),
    (STRING, "s", same("SUBSTR({0}, 2)")),
    (STRING, "s", same("SUBSTR({0}, 2, 3)")),
    (
        STRING,
        "s",
        mapped(
            "SUBSTR({0}, -2)", "CASE WHEN length({0}) < 2 THEN '' ELSE substr({0}, -2) END || left({0}, 0)"
        ),
    ),
    (STRING, "s", same("LEFT({0}, 2)")),
    (STRING, "s", same("RIGHT({0}, 2)")),
    (STRING, "s", same("LPAD({0}, 4, 'xy')")),
    (STRING, "s", same("RPAD({0}, 4, 'é')")),
    (STRING, "s", same("REPEAT({0}, 2)")),
    (STRING, "s", same("SPLIT_PART({0}, ',', 2)")),
    (STRING, "i", mapped("CAST({0} AS string)", "{0}::VARCHAR")),
    (STRING, "b", mapped("CAST({0} AS string)", "{0}::VARCHAR")),
    (STRING, "s", mapped("CAST({0} AS varchar(2))", "left({0}, 2)")),
    (STRING, "t", mapped("TO_ISO8601({0})", "strftime(make_timestamp({0} * 1000), '%Y-%m-%dT%H:%M:%S.%gZ')")),
    (STRING, "t", mapped("DATE({0})", "strftime(make_timestamp({0} * 1000), '%Y-%m-%d')")),
    (STRING, "t", mapped("DATE({0}, 'Europe/Berlin')", f"strftime({BERLIN}, '%Y-%m-%d')")),
    (INT, "t", mapped("HOUR({0}, 'Europe/Berlin')", f"hour({BERLIN})")),
    (TIME, "t", mapped("TIMETRUNCATE({0}, 1d, 'Europe/Berlin')", DAY_IN_BERLIN)),
    _truncated("1h", 3_600_000),
    _truncated("15m", 900_000),
    _truncated("1d", 86_400_000),
    _truncated("1w", 604_800_000, 345_600_000),
    (TIME, "t", mapped("({0} + 90m)", "{0} + 5400000")),
    (TIME, "t", mapped("({0} - 1d)", "{0} - 86400000")),
    (
        TIME,
        "s",
        mapped(
            "CAST({0} AS timestamp)",
            "epoch_ms(TRY_CAST(CASE WHEN regexp_matches({0}, '^ *[0-9]{{4}}-') THEN {0} END AS TIMESTAMP))",
        ),
    ),
    (BOOL, "ss", same("STARTS_WITH({0}, {1})")),
    (BOOL, "ss", same("ENDS_WITH({0}, {1})")),
    (BOOL, "i", mapped("CAST({0} AS bool)", "{0}::BOOLEAN")),
    (BOOL, "b", same("NOT {0}")),
    (BOOL, "bb", same("{0} AND {1}")),
    (BOOL, "bb", same("{0} OR {1}")),
    (BOOL, "bbb", same("{0} AND ({1} OR NOT {2})")),
    (BOOL, "b", same("{0} IS TRUE")),
    (BOOL, "b", same("{0} IS NOT FALSE")),
    (BOOL, "t", mapped("({0} >= '2026-03-29T01:30:00+01:00')", "{0} >= 1774744200000")),
]
for _kind in (INT, DOUBLE, STRING, TIME):
    OPERATIONS += [
        (BOOL, _kind * 2, same(f"{{0}} {sign} {{1}}")) for sign in ("=", "<>", "<", "<=", ">", ">=")
    ]
    OPERATIONS += [
        (BOOL, _kind * 3, same("{0} BETWEEN {1} AND {2}")),
        (BOOL, _kind * 3, same("{0} NOT BETWEEN {1} AND {2}")),
        (BOOL, _kind * 3, same("{0} IN ({1}, {2})")),
        (BOOL, _kind * 3, same("{0} NOT IN ({1}, NULL, {2})")),
        (
            _kind,
            _kind * 2,
            mapped("GREATEST({0}, {1})", "CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END"),
        ),
        (
            _kind,
            _kind * 2,
            mapped("LEAST({0}, {1})", "CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END"),
        ),
    ]
for _kind in (BOOL, INT, DOUBLE, STRING, TIME):
    OPERATIONS += [
        (BOOL, _kind, same("{0} IS NULL")),
        (BOOL, _kind, same("{0} IS NOT NULL")),
        (BOOL, _kind * 2, mapped("({0} <=> {1})", "{0} IS NOT DISTINCT FROM {1}")),
        (_kind, _kind * 2, same("COALESCE({0}, {1})")),
        (_kind, _kind * 2, same("NULLIF({0}, {1})")),
        (_kind, f"b{_kind}{_kind}", same("CASE WHEN {0} THEN {1} ELSE {2} END")),
        (_kind, f"b{_kind}b{_kind}", same("CASE WHEN {0} THEN {1} WHEN {2} THEN {3} END")),
        (_kind, f"b{_kind}{_kind}", mapped("IF({0}, {1}, {2})", "CASE WHEN {0} THEN {1} ELSE {2} END")),
        (_kind, f"ii{_kind}{_kind}", same("CASE {0} WHEN {1} THEN {2} ELSE {3} END")),
    ]
BY_RESULT = {kind: [operation for operation in OPERATIONS if operation[0] == kind] for kind in COLUMNS}


def _literal(draw: DrawFn, kind: str) -> Pair:
    if kind == BOOL:
        return alike(draw(st.sampled_from(["TRUE", "FALSE", "NULL"])))
    if kind == INT:
        number = draw(st.sampled_from([0, 1, -1, 7, 127, 2**31, 2**63 - 1, -(2**63)]) | st.integers(-50, 50))
        return both("{0}", "{0}::BIGINT", Pair(f"({number})", f"({number})"))
    if kind == DOUBLE:
        real = draw(st.sampled_from([0.0, 0.5, -2.5, 1e300, 1e-300, 3.0, 1e15]))
        return Pair(f"({real!r})", f"({real!r})::DOUBLE")
    if kind == STRING:
        text = quoted(draw(st.sampled_from(TEXTS)))
        return Pair(text, f"{text}::VARCHAR")
    number = draw(st.integers(-(10**12), 4 * 10**12))
    return Pair(f"CAST({number} AS timestamp)", f"({number})::BIGINT")


@st.composite
def expressions(draw: DrawFn, kind: str, depth: int = 4) -> Pair:
    """Draw an expression of `kind` with at most `depth` operators nested in each other."""
    choice = draw(st.integers(0, 9))
    if depth == 0 or choice < 2:
        return alike(draw(st.sampled_from(COLUMNS[kind])))
    if choice == 2:
        return _literal(draw, kind)
    if kind == BOOL and choice == 3:
        value = draw(expressions(STRING, depth - 1))
        return alike("({0} LIKE " + quoted(draw(st.sampled_from(PATTERNS))) + " ESCAPE '\\')", value)
    _, arguments, write = draw(st.sampled_from(BY_RESULT[kind]))
    args: list[Any] = [draw(expressions(argument, depth - 1)) for argument in arguments]
    written: Pair = write(*args)
    return written
