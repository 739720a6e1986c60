"""TDengine's durations, such as `15m` and `1h`, and units of time."""

from __future__ import annotations

import re
from typing import Final

from views.column_types import INT64_MAX

# TDengine's letters: b ns, u us, a ms.  Months (n) and years (y) are missing: they have no fixed length.
UNITS_NS: Final = {
    "b": 1,
    "u": 1_000,
    "a": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "w": 604_800_000_000_000,
}
_DURATION = re.compile(r"([0-9]{1,18})([a-z])", re.IGNORECASE)


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a text such as `1h`, or None if it is not one or too long for int64."""
    match = _DURATION.fullmatch(text)
    if match is None or (unit := UNITS_NS.get(match[2].lower())) is None:
        return None
    nanoseconds = int(match[1]) * unit
    return nanoseconds if nanoseconds <= INT64_MAX else None
