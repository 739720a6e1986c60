"""Timestamps as text: ISO 8601 and SQL's form, read and written to the nanosecond.

    2026-01-31   2026-01-31 23:59:59   2026-01-31T23:59:59.123456789Z   …+01:00   …+0100

Without a zone the text is UTC; the calendar is Gregorian, years 1 to 9999.  Numbers count since 1970.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from views.column_types import INT64_MAX, INT64_MIN

_SECOND_NS: Final = 1_000_000_000
_DAY_SECONDS: Final = 86_400
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_FIRST_SECOND: Final = (1 - _EPOCH_DAY) * _DAY_SECONDS
_LAST_SECOND: Final = (date.max.toordinal() + 1 - _EPOCH_DAY) * _DAY_SECONDS - 1
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_TEXT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?"
    r" ?(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2}))?")


def parse_timestamp(text: str, unit_ns: int) -> int | None:
    """Return the time in `text` in units of `unit_ns`, cut, not rounded; None when it is not a time.

    None, too, beyond what int64 can hold in that unit.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    east = zone_offset_seconds(zone) if zone and zone not in "Zz" else 0
    if east is None:
        return None
    total = days * _DAY_SECONDS + hours * 3_600 + minutes * 60 + seconds - east
    found = (total * _SECOND_NS + int((fraction or "0").ljust(9, "0"))) // unit_ns
    return found if INT64_MIN <= found <= INT64_MAX else None


def zone_offset_seconds(text: str) -> int | None:
    """Return how far east of UTC a text like `+01:00` is, or None when it is not such a text."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    if int(hours) > 23 or int(minutes or 0) > 59:
        return None
    return (1 if sign == "+" else -1) * (int(hours) * 3_600 + int(minutes or 0) * 60)


@lru_cache(maxsize=256)
def find_zone(name: str) -> tzinfo | None:
    """Return the zone called `name`, as `Europe/Berlin`, `UTC`, `Z` or `+01:00`; None when there is none."""
    if name in ("UTC", "Z", "z"):
        return UTC
    if (east := zone_offset_seconds(name)) is not None:
        return timezone(timedelta(seconds=east))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def local_time(value: int, unit_ns: int, zone: tzinfo) -> datetime | None:
    """Return the second that `value` lies in, in `zone`; None outside the years 1 to 9999."""
    seconds = value * unit_ns // _SECOND_NS
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        return None
    try:
        return (EPOCH + timedelta(seconds=seconds)).astimezone(zone)
    except OverflowError:
        return None


def format_timestamp(value: int, unit_ns: int, zone: tzinfo = UTC) -> str | None:
    """Return ISO 8601 with the digits of the unit: 2026-01-31T23:59:59.123+00:00; UTC is written Z.

    None outside the years 1 to 9999.
    """
    local = local_time(value, unit_ns, zone)
    if local is None:
        return None
    digits = {1_000_000: 3, 1_000: 6, 1: 9}[unit_ns]
    fraction = value * unit_ns % _SECOND_NS // (10 ** (9 - digits))
    east = int((local.utcoffset() or timedelta()).total_seconds())
    hours, minutes = divmod(abs(east) // 60, 60)
    shift = f"{'-' if east < 0 else '+'}{hours:02}:{minutes:02}" if zone is not UTC else "Z"
    return f"{local:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f".{fraction:0{digits}}{shift}"
