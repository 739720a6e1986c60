"""Functions of time, as evaluators call them: times are integers in units of `unit_ns` nanoseconds.

What has no answer is None: years before 1 or after 9999, texts that are not times, overflow of int64.
"""

from __future__ import annotations

from datetime import UTC, timedelta, tzinfo
from typing import Final

from views.column_types import INT64_MAX, INT64_MIN
from views.timestamps import format_timestamp, local_time, parse_timestamp

_SECOND_NS: Final = 1_000_000_000
_SECOND: Final = timedelta(seconds=1)


def text_of(value: int, unit_ns: int, zone: tzinfo = UTC) -> str | None:
    """Return a time as ISO 8601: TO_ISO8601."""
    return format_timestamp(value, unit_ns, zone)


def time_of_text(text: str) -> int | None:
    """Return the milliseconds since 1970 of a text: TO_UNIXTIMESTAMP."""
    return parse_timestamp(text.strip(), 1_000_000) if len(text) <= 64 else None


def truncated(value: int, unit_ns: int, step_ns: int, zone: tzinfo = UTC) -> int | None:
    """Cut `value` to a whole multiple of `step_ns`, counted from midnight in `zone`: TIMETRUNCATE.

    Multiples of a week begin on Mondays.  Steps shorter than the unit change nothing.  The time on the
    wall clock is cut, so that a day on which clocks are changed begins at its own midnight.
    """
    if step_ns <= unit_ns:
        return value
    if not _YEAR_1_NS <= value * unit_ns < _YEAR_10000_NS:
        return None
    first_ns = _FIRST_MONDAY_NS if step_ns % _WEEK_NS == 0 else 0
    if zone is UTC:
        wall_ns = value * unit_ns - first_ns
        return _in_years(wall_ns - wall_ns % step_ns + first_ns, unit_ns)
    local = local_time(value, unit_ns, zone)
    if local is None:
        return None
    wall_ns = value * unit_ns + (local.utcoffset() or _NO_SHIFT) // _SECOND * _SECOND_NS - first_ns
    start_ns = wall_ns - wall_ns % step_ns + first_ns
    start = local_time(start_ns // _SECOND_NS, _SECOND_NS, UTC)
    if start is None:
        return None
    shift = start.replace(tzinfo=zone, fold=local.fold).utcoffset() or _NO_SHIFT
    return _in_years(start_ns - shift // _SECOND * _SECOND_NS, unit_ns)


def _in_years(time_ns: int, unit_ns: int) -> int | None:
    """Return a time in its unit, or None if it lies before the year 1, or is too small for int64."""
    value = time_ns // unit_ns
    return value if time_ns >= _YEAR_1_NS and value >= INT64_MIN else None


_YEAR_1_NS: Final = -62_135_596_800 * _SECOND_NS
_YEAR_10000_NS: Final = 253_402_300_800 * _SECOND_NS
_WEEK_NS: Final = 604_800 * _SECOND_NS
# 1970-01-01 was a Thursday.
_FIRST_MONDAY_NS: Final = 4 * 86_400 * _SECOND_NS
_NO_SHIFT: Final = timedelta()


def between(left: int, right: int, left_ns: int, right_ns: int, step_ns: int) -> int | None:
    """Return `left` minus `right` in whole steps, cut towards zero: TIMEDIFF."""
    difference = left * left_ns - right * right_ns
    steps = abs(difference) // step_ns
    steps = steps if difference >= 0 else -steps
    return steps if INT64_MIN <= steps <= INT64_MAX else None


def part(value: int, unit_ns: int, name: str, zone: tzinfo = UTC) -> int | None:
    """Return the part `name` of a time: one of PARTS."""
    local = local_time(value, unit_ns, zone)
    return None if local is None else PARTS[name](local)


def date_of(value: int, unit_ns: int, zone: tzinfo = UTC) -> str | None:
    """Return the day as text: 2026-01-31."""
    local = local_time(value, unit_ns, zone)
    return None if local is None else f"{local.year:04}-{local.month:02}-{local.day:02}"


PARTS: Final = {
    "year": lambda local: local.year,
    "quarter": lambda local: (local.month + 2) // 3,
    "month": lambda local: local.month,
    "day": lambda local: local.day,
    "hour": lambda local: local.hour,
    "minute": lambda local: local.minute,
    "second": lambda local: local.second,
    # As in MySQL and TDengine: 1 is Sunday; 0 is Monday; weeks by ISO 8601.
    "dayofweek": lambda local: local.isoweekday() % 7 + 1,
    "weekday": lambda local: local.weekday(),
    "weekofyear": lambda local: local.isocalendar().week,
    "dayofyear": lambda local: local.timetuple().tm_yday,
}
