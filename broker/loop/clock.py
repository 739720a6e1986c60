"""The two clocks of the broker: a monotonic one, which never jumps, and the time of day."""

from __future__ import annotations

from typing import Final

JUMP_MS: Final = 600_000
"""The lead over the monotonic clock that the time of day may gain before it counts as a jump."""

HOLD_MS: Final = 3_600_000
"""The time for which a jump must last before records are deleted by it: time to set a wrong clock right."""


class Clock:
    """The time of a turn of the event loop, as the shell gave it at the turn's start.

    `turn_ms` is monotonic: deadlines, timeouts and durations are counted in it.  The time of day may jump; it
    is used for timestamps of records and for retention only.  Retention goes by `settled_wall_ms`, which
    follows a jump ahead by no more than JUMP_MS until it has lasted for HOLD_MS: a clock that is wrong for a
    while must not delete every record.
    """

    __slots__ = (
        "_anchor_ms",
        "_anchored_at_ms",
        "_jumped_at_ms",
        "_wall_offset_ms",
        "turn_ms",
        "turn_wall_ms",
    )

    def __init__(self, *, now_ms: int, wall_ms: int, last_wall_ms: int | None = None) -> None:
        """Begin at this moment; `last_wall_ms` is the latest time of day known from before the start."""
        self.turn_ms, self.turn_wall_ms = now_ms, wall_ms
        self._wall_offset_ms = wall_ms - now_ms
        known_ms = wall_ms if last_wall_ms is None else min(wall_ms, last_wall_ms)
        self._anchor_ms = known_ms - now_ms
        self._anchored_at_ms = now_ms
        self._jumped_at_ms: int | None = None
        self.set(now_ms=now_ms, wall_ms=wall_ms)

    def set(self, *, now_ms: int, wall_ms: int) -> None:
        """Begin a turn at this monotonic moment (ms), which is this time of day (ms since 1970)."""
        self.turn_ms, self.turn_wall_ms = now_ms, wall_ms
        offset_ms = self._wall_offset_ms = wall_ms - now_ms
        if offset_ms > self._anchor_ms + JUMP_MS:
            if self._jumped_at_ms is None:
                self._jumped_at_ms = now_ms
            elif now_ms - self._jumped_at_ms >= HOLD_MS:
                self._anchor(offset_ms, now_ms)
        elif offset_ms < self._anchor_ms or now_ms - self._anchored_at_ms >= HOLD_MS:
            self._anchor(offset_ms, now_ms)
        else:
            self._jumped_at_ms = None

    def _anchor(self, offset_ms: int, now_ms: int) -> None:
        self._anchor_ms = offset_ms
        self._anchored_at_ms = now_ms
        self._jumped_at_ms = None

    def wall_ms(self, now_ms: int) -> int:
        """Return the time of day (ms since 1970) at the monotonic moment `now_ms`."""
        return now_ms + self._wall_offset_ms

    @property
    def settled_wall_ms(self) -> int:
        """The time of day of this turn by which records may be deleted: behind `wall_ms` after a jump."""
        return self.turn_ms + min(self._wall_offset_ms, self._anchor_ms + JUMP_MS)

    @property
    def distrusted_ms(self) -> int:
        """The part of a jump ahead that does not count yet; 0 when there is none."""
        return self.wall_ms(self.turn_ms) - self.settled_wall_ms
