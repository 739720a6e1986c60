"""Functions whose arguments or results do not fit the table of `functions.py`: choices, headers and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from views import runtime_numbers, runtime_time
from views.column_types import BIGINT, BOOL, DOUBLE, STRING, TIMESTAMP_MS, Kind, Type
from views.errors import TypeProblem
from views.expressions import Expression, literal
from views.operators import as_condition, called, case, coerce, common_type, compare
from views.timestamps import find_zone

Arguments = Sequence[Expression]

_AGGREGATE_WORDS = """
count sum avg min max first last last_row stddev stddev_pop stddev_samp var_pop var_samp
variance spread twa apercentile percentile elapsed hyperloglog histogram mode leastsquares
group_concat string_agg array_agg any_value diff derivative irate csum mavg statecount
stateduration top bottom tail unique sample interp lag lead row_number rank dense_rank ntile
first_value last_value forecast cols
"""
AGGREGATES: Final = frozenset(_AGGREGATE_WORDS.split())
"""Functions that need several records; they are refused as aggregates, not as unknown."""


def _count(name: str, args: Arguments, least: int, most: int) -> None:
    if not least <= len(args) <= most:
        wanted = str(least) if least == most else f"{least} or more" if most > 100 else f"{least} to {most}"
        raise TypeProblem(f"{name} takes {wanted} arguments, not {len(args)}")


def _coalesce(name: str, args: Arguments) -> Expression:
    _count(name, args, 1 if name == "COALESCE" else 2, 255 if name == "COALESCE" else 2)
    target = common_type(name, args)
    bound = tuple(coerce(arg, target) for arg in args)
    return Expression("coalesce", target, bound, nullable=all(arg.nullable for arg in bound))


def _if(args: Arguments) -> Expression:
    _count("IF", args, 3, 3)
    return case([(as_condition(args[0], "IF"), args[1])], args[2])


def _nvl2(args: Arguments) -> Expression:
    _count("NVL2", args, 3, 3)
    return case([(Expression("is_null", BOOL, (args[0],), nullable=False), args[2])], args[1])


def _nullif(args: Arguments) -> Expression:
    _count("NULLIF", args, 2, 2)
    return case([(compare("eq", args[0], args[1]), literal(None, args[0].type))], args[0])


def _isnull(args: Arguments) -> Expression:
    _count("ISNULL", args, 1, 1)
    return Expression("is_null", BOOL, (args[0],), nullable=False)


def _extreme(name: str, compute: Callable[..., Any], args: Arguments) -> Expression:
    _count(name, args, 2, 255)
    target = common_type(name, args)
    if target.kind in (Kind.JSON, Kind.BOOL):
        raise TypeProblem(f"{name} does not order values of type {target}")
    return called(compute, target, *(coerce(arg, target) for arg in args))


def _header(args: Arguments) -> Expression:
    _count("HEADER", args, 1, 1)
    return Expression("header", STRING, value=_constant("HEADER", args[0], "the name of a header"))


def _constant(name: str, arg: Expression, what: str) -> str:
    if arg.op != "literal" or not isinstance(arg.value, str):
        raise TypeProblem(f"{name} takes {what} in quotes")
    return arg.value


def _pi(args: Arguments) -> Expression:
    _count("PI", args, 0, 0)
    return literal(3.141592653589793, DOUBLE)


def _timestamp(name: str, arg: Expression) -> Type:
    if arg.type.kind not in (Kind.TIMESTAMP, Kind.NULL):
        raise TypeProblem(
            f"{name} takes a timestamp, not a {arg.type}; CAST it, as in CAST(column AS timestamp)"
        )
    return TIMESTAMP_MS if arg.type.kind is Kind.NULL else arg.type


def _zone(name: str, args: Arguments, at: int) -> tuple[Any, ...]:
    """Return the zone that argument `at` names, if it is given, as an argument for the runtime."""
    if len(args) <= at:
        return ()
    zone = _constant(name, args[at], "a time zone")
    if (found := find_zone(zone)) is None:
        raise TypeProblem(
            f"{name}: the time zone {zone[:60]!r} is unknown; write it like 'Europe/Berlin' or '+01:00'"
        )
    return (found,)


def _of_time(name: str, compute: Callable[..., Any], result: Type, args: Arguments) -> Expression:
    """Return a function of a timestamp and perhaps a zone."""
    _count(name, args, 1, 2)
    unit_ns = _timestamp(name, args[0]).unit_ns
    zone = _zone(name, args, 1)

    def call(value: int) -> Any:
        return compute(value, unit_ns, *zone)

    return called(call, result, args[0])


def _part(name: str, args: Arguments) -> Expression:
    def compute(value: int, unit_ns: int, *zone: Any) -> int | None:
        return runtime_time.part(value, unit_ns, name.lower(), *zone)

    return _of_time(name, compute, BIGINT, args)


def _step(name: str, arg: Expression) -> int:
    if arg.type.kind is not Kind.DURATION or not arg.value:
        raise TypeProblem(f"{name} takes a unit of time like 1s, 15m, 1h, 1d or 1w")
    return int(arg.value)


def _timetruncate(args: Arguments) -> Expression:
    _count("TIMETRUNCATE", args, 2, 3)
    kind = _timestamp("TIMETRUNCATE", args[0])
    zone, step_ns = _zone("TIMETRUNCATE", args, 2), _step("TIMETRUNCATE", args[1])

    def call(value: int) -> int | None:
        start = runtime_time.truncated(value, kind.unit_ns, step_ns, *zone)
        return None if start is None else runtime_numbers.whole(start)

    return called(call, kind, args[0])


def _timediff(args: Arguments) -> Expression:
    _count("TIMEDIFF", args, 2, 3)
    one, other = _timestamp("TIMEDIFF", args[0]), _timestamp("TIMEDIFF", args[1])
    step_ns = _step("TIMEDIFF", args[2]) if len(args) == 3 else min(one.unit_ns, other.unit_ns)

    def call(left: int, right: int) -> int | None:
        return runtime_time.between(left, right, one.unit_ns, other.unit_ns, step_ns)

    return called(call, BIGINT, args[0], args[1])


def _to_unixtimestamp(args: Arguments) -> Expression:
    _count("TO_UNIXTIMESTAMP", args, 1, 1)
    if args[0].type.kind not in (Kind.STRING, Kind.NULL):
        raise TypeProblem(f"TO_UNIXTIMESTAMP takes a string, not a {args[0].type}")
    return called(runtime_time.time_of_text, BIGINT, args[0])


SPECIAL: Final[dict[str, Callable[[Arguments], Expression]]] = {
    "coalesce": partial(_coalesce, "COALESCE"),
    "ifnull": partial(_coalesce, "IFNULL"),
    "nvl": partial(_coalesce, "NVL"),
    "nvl2": _nvl2,
    "if": _if,
    "nullif": _nullif,
    "isnull": _isnull,
    "greatest": partial(_extreme, "GREATEST", max),
    "least": partial(_extreme, "LEAST", min),
    "header": _header,
    "pi": _pi,
    "to_iso8601": partial(_of_time, "TO_ISO8601", runtime_time.text_of, STRING),
    "date": partial(_of_time, "DATE", runtime_time.date_of, STRING),
    "to_unixtimestamp": _to_unixtimestamp,
    "timetruncate": _timetruncate,
    "timediff": _timediff,
    **{name: partial(_part, name.upper()) for name in runtime_time.PARTS},
}
