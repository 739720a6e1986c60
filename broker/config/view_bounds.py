"""The bounds of a view in time or offsets, and the pace of a replay, read from their settings.

    kawal.from, kawal.to     2026-11-21T08:00:00Z | 2026-11-21T09:00:00+01:00 | 1795248000000 | offset 4711
    kawal.replay.speed       1.0 the original pace, 10 ten times as fast, 0.5 half as fast

A time without a zone is UTC; a bare number is milliseconds since 1970.  `kawal.from` is the first time or
offset that is shown, `kawal.to` the first that is not.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

SPEED_MIN: Final = 0.001
SPEED_MAX: Final = 1_000_000.0
_OFFSET: Final = re.compile(r"offset\s*[:=]?\s*(\d{1,18})", re.IGNORECASE)
_MILLISECONDS: Final = re.compile(r"\d{1,18}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Bound(NamedTuple):
    """An offset, or a time in ms since 1970."""

    is_offset: bool
    value: int

    @property
    def text(self) -> str:
        """The bound as it is kept and shown."""
        if self.is_offset:
            return f"offset {self.value}"
        try:
            at = _EPOCH + timedelta(milliseconds=self.value)
        except OverflowError:
            return str(self.value)
        return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse_bound(text: str) -> Bound:
    """Read a bound.  Raises: ValueError with what is wrong."""
    stripped = text.strip()
    if (found := _OFFSET.fullmatch(stripped)) is not None:
        return Bound(is_offset=True, value=int(found[1]))
    if _MILLISECONDS.fullmatch(stripped):
        return Bound(is_offset=False, value=int(stripped))
    try:
        at = datetime.fromisoformat(stripped)
    except ValueError:
        raise ValueError(
            f"{stripped[:60]!r} is not an ISO 8601 time, a number of milliseconds since 1970 or an offset"
            " ('offset 4711')"
        ) from None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    milliseconds = (at - _EPOCH) // timedelta(milliseconds=1)
    if milliseconds < 0:
        raise ValueError(f"{stripped[:60]!r} lies before 1970")
    return Bound(is_offset=False, value=milliseconds)


def parse_speed(text: str) -> float:
    """Read a speed.  Raises: ValueError with what is wrong."""
    try:
        speed = float(text.strip())
    except ValueError:
        speed = math.nan
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise ValueError(
            f"{text.strip()[:40]!r} is not a number between {SPEED_MIN} and {SPEED_MAX:g};"
            " 1 is the original pace"
        )
    return speed
