"""The operators of the language: the types they take, the types they give, and the cases that give NULL.

Arithmetic never fails: what has no answer is NULL (overflow of int64, division by zero, a double that would
be infinite).  Comparisons are between values of one kind; numbers are compared exactly, however large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from views import runtime_casts, runtime_json, runtime_numbers
from views.column_types import BIGINT, BOOL, DOUBLE, INT64_MIN, JSON, NULL, Kind, Type, timestamp_type
from views.errors import TypeProblem
from views.expressions import Expression, literal
from views.timestamps import parse_timestamp

SIGNS: Final = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "same": "<=>",
    "differs": "IS DISTINCT FROM",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "idiv": "DIV",
    "mod": "%",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
}
_FINER: Final = ("ns", "us", "ms")


def finite(number: float) -> float:
    """Return `number`; raise ValueError when it is infinite or not a number."""
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def as_condition(expression: Expression, where: str) -> Expression:
    """Return `expression`, which must be true, false or NULL."""
    if expression.type.kind is Kind.NULL:
        return literal(None, BOOL)
    if expression.type.kind is not Kind.BOOL:
        raise TypeProblem(f"{where} needs conditions, but one of its sides is a {expression.type}")
    return expression


def invert(condition: Expression) -> Expression:
    """Return NOT `condition`."""
    return Expression("not", BOOL, (condition,), nullable=condition.nullable)


def both(left: Expression, right: Expression) -> Expression:
    """Return `left` AND `right`."""
    return Expression("and", BOOL, (left, right), nullable=left.nullable or right.nullable)


def compare(op: str, left: Expression, right: Expression) -> Expression:
    """Return the comparison `op` of two values of one kind."""
    left, right = _comparable(op, left, right)
    if op == "differs":
        return invert(compare("same", left, right))
    if op == "same":
        return Expression("same", BOOL, (left, right), nullable=False)
    return Expression(op, BOOL, (left, right), nullable=left.nullable or right.nullable)


def _comparable(op: str, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    left, right = _read_as_timestamp(left, right), _read_as_timestamp(right, left)
    one, other = left.type, right.type
    if Kind.JSON in (one.kind, other.kind):
        raise TypeProblem(f"{SIGNS[op]} does not compare json; CAST it, as in CAST(column AS double)")
    if Kind.DURATION in (one.kind, other.kind):
        raise TypeProblem(f"{SIGNS[op]} does not compare durations like 1h; add it to a timestamp")
    if Kind.NULL in (one.kind, other.kind) or (one.is_number and other.is_number):
        return left, right
    if one.kind is Kind.TIMESTAMP and other.kind is Kind.TIMESTAMP:
        unit = finer(one, other)
        return in_unit(left, unit), in_unit(right, unit)
    # A bare number beside a timestamp counts in its unit, as in TDengine.
    kinds = {one.kind, other.kind}
    if len(kinds) == 1 or kinds == {Kind.TIMESTAMP, Kind.INT}:
        return left, right
    raise TypeProblem(f"{SIGNS[op]} cannot compare a {one} with a {other}; CAST one of them")


def _read_as_timestamp(value: Expression, other: Expression) -> Expression:
    """Read a string of the statement as the timestamp that it is compared with."""
    if value.op != "literal" or value.type.kind is not Kind.STRING or other.type.kind is not Kind.TIMESTAMP:
        return value
    if value.value is None:
        return literal(None, other.type)
    parsed = parse_timestamp(value.value, other.type.unit_ns)
    if parsed is None:
        raise TypeProblem(
            f"{value.value[:40]!r} is not a timestamp; write it like '2026-01-31 23:59:59' or "
            "'2026-01-31T23:59:59+01:00'"
        )
    return literal(parsed, other.type)


def finer(one: Type, other: Type) -> str:
    """Return the finer of two units of time."""
    return min(one.unit, other.unit, key=_FINER.index)


def in_unit(value: Expression, unit: str, *, checked: bool = False) -> Expression:
    """Return a timestamp in a finer unit; `checked`: NULL where int64 cannot hold it."""
    if value.type.unit == unit:
        return value
    target = timestamp_type(unit)
    factor = value.type.unit_ns // target.unit_ns
    return Expression("scale_checked" if checked else "scale", target, (value,), value=factor)


def negate(value: Expression) -> Expression:
    """Return minus `value`."""
    if value.type.kind is Kind.NULL:
        return value
    if not value.type.is_number:
        raise TypeProblem(f"- takes a number, not a {value.type}")
    if value.op == "literal":
        return literal(None if value.value in (None, INT64_MIN) else -value.value, value.type)
    return Expression("neg", DOUBLE if value.type.kind is Kind.DOUBLE else BIGINT, (value,))


def arithmetic(op: str, left: Expression, right: Expression) -> Expression:
    """Return +, -, *, /, DIV or % of two numbers, or a timestamp moved, or the time between two."""
    one, other = left.type, right.type
    if Kind.TIMESTAMP in (one.kind, other.kind):
        return _moved(op, left, right)
    for kind in (one, other):
        if not kind.is_number and kind.kind is not Kind.NULL:
            raise TypeProblem(f"{SIGNS[op]} takes numbers, not a {kind}" + _cast_hint(kind))
    if op == "div":
        return Expression("div", DOUBLE, (coerce(left, DOUBLE), coerce(right, DOUBLE)))
    integers = Kind.DOUBLE not in (one.kind, other.kind)
    if op == "idiv":
        if not integers:
            raise TypeProblem("DIV takes integers; use / for doubles")
        return called(runtime_numbers.divide_integers, BIGINT, left, right)
    if op == "mod":
        remainder = runtime_numbers.remainder_of_integers if integers else runtime_numbers.remainder
        return called(remainder, BIGINT if integers else DOUBLE, left, right)
    return Expression(op, BIGINT if integers else DOUBLE, (left, right))


def _cast_hint(kind: Type) -> str:
    return "; CAST it" if kind.kind in (Kind.STRING, Kind.JSON) else ""


def _moved(op: str, left: Expression, right: Expression) -> Expression:
    one, other = left.type, right.type
    if op == "sub" and one.kind is other.kind:
        unit = finer(one, other)
        return Expression("sub", BIGINT, (in_unit(left, unit), in_unit(right, unit)))
    if op == "add" and one.kind is not Kind.TIMESTAMP:
        left, right, one, other = right, left, other, one
    if op not in ("add", "sub") or one.kind is not Kind.TIMESTAMP:
        raise TypeProblem(f"{SIGNS[op]} does not take a {one} and a {other}")
    if other.kind is Kind.DURATION:
        right = literal(duration_in(right, one), BIGINT)
    elif other.kind not in (Kind.INT, Kind.NULL):
        raise TypeProblem(
            f"{SIGNS[op]} moves a timestamp by an integer or by a duration like 1h, not by a {other}"
        )
    return Expression(op, one, (left, right))


def duration_in(duration: Expression, timestamp: Type) -> int:
    """Return a duration in units of `timestamp`."""
    units, rest = divmod(duration.value, timestamp.unit_ns)
    if rest:
        raise TypeProblem(f"a duration of {duration.value} ns is not a whole number of {timestamp.unit}")
    return int(units)


def bits(op: str, left: Expression, right: Expression) -> Expression:
    """Return &, | or ^ of two integers."""
    for kind in (left.type, right.type):
        if kind.kind not in (Kind.INT, Kind.NULL):
            raise TypeProblem(f"{SIGNS[op]} takes integers, not a {kind}")
    return Expression(op, BIGINT, (left, right), nullable=left.nullable or right.nullable)


def among(value: Expression, candidates: Sequence[Expression]) -> Expression:
    """Return `value` IN (`candidates`)."""
    args = [value]
    for candidate in candidates:
        compared, other = _comparable("eq", value, candidate)
        if compared is not value:
            # The candidate has a finer unit: all are compared one by one instead of looked up.
            alternatives = tuple(compare("eq", value, alternative) for alternative in candidates)
            return Expression("or", BOOL, alternatives)
        args.append(other)
    return Expression("in", BOOL, tuple(args))


def common_type(what: str, expressions: Sequence[Expression]) -> Type:
    """Return the type that all of `expressions` can have: the results of CASE, the arguments of COALESCE."""
    found = NULL
    for other in (expression.type for expression in expressions):
        if other.kind is Kind.DURATION:
            raise TypeProblem(f"{what} does not take durations like 1h")
        if found.kind is Kind.NULL or other.kind is Kind.NULL:
            found = other if found.kind is Kind.NULL else found
        elif found.is_number and other.is_number:
            integers = found.kind is other.kind is Kind.INT
            found = found if found == other else BIGINT if integers else DOUBLE
        elif found.kind is not other.kind:
            raise TypeProblem(f"{what} mixes a {found} and a {other}; CAST one of them")
        elif found.kind is Kind.TIMESTAMP:
            found = timestamp_type(finer(found, other))
        elif found != other:
            found = Type(Kind.STRING, "string") if found.kind is Kind.STRING else found
    return found


def coerce(value: Expression, target: Type) -> Expression:
    """Return `value` as `target`, which `common_type` found."""
    kind = value.type.kind
    if kind is Kind.NULL or (value.op == "literal" and value.value is None):
        return literal(None, target)
    if kind is Kind.INT and target.kind is Kind.DOUBLE:
        if value.op == "literal":
            return literal(float(value.value), DOUBLE)
        return Expression("to_double", DOUBLE, (value,), nullable=value.nullable)
    return in_unit(value, target.unit, checked=True) if kind is Kind.TIMESTAMP else value


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression) -> Expression:
    """Return CASE with these conditions and results."""
    results = [result for _, result in branches] + [default]
    target = common_type("CASE", results)
    args: list[Expression] = []
    for condition, result in branches:
        args += (condition, coerce(result, target))
    args.append(coerce(default, target))
    return Expression("case", target, tuple(args))


def cast(value: Expression, target: Type) -> Expression:
    """Return CAST(`value` AS `target`)."""
    source = value.type
    if source.kind is Kind.NULL or source == target:
        return coerce(value, target) if source.kind is Kind.NULL else value
    function = runtime_casts.cast_function(source, target)
    if function is None:
        raise TypeProblem(f"CAST of a {source} to a {target} has no meaning")
    return Expression("call", target, (value,), value=function)


def member(value: Expression, name: Expression) -> Expression:
    """Return `value` -> `name`: a member of a JSON object, or NULL."""
    return _of_json("->", JSON, runtime_json.member, value, name)


def has_member(value: Expression, name: Expression) -> Expression:
    """Return `value` CONTAINS `name`."""
    return _of_json("CONTAINS", BOOL, runtime_json.has_member, value, name)


def _of_json(sign: str, result: Type, function: Any, value: Expression, name: Expression) -> Expression:
    if value.type.kind is not Kind.JSON:
        raise TypeProblem(f"{sign} takes json, not a {value.type}")
    if name.op != "literal" or not isinstance(name.value, str):
        raise TypeProblem(f"{sign} takes the name of a member in quotes, as in payload{sign}'name'")
    return called(function, result, value, name)


def called(function: Any, result: Type, *args: Expression) -> Expression:
    """Return a call of a runtime function, which is NULL when an argument is."""
    return Expression("call", result, args, value=function)
