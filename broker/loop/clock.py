"""The two clocks of the broker: a monotonic one, which never jumps, and the time of day."""

from __future__ import annotations


class Clock:
    """The time of a turn of the event loop, as the shell gave it at the turn's start.

    `turn_ms` is monotonic: deadlines, timeouts and durations are counted in it.  The time of day may jump; it
    is used for timestamps of records and for retention only.
    """

    __slots__ = ("_wall_offset_ms", "turn_ms")

    def __init__(self, *, now_ms: int, wall_ms: int) -> None:
        self.set(now_ms=now_ms, wall_ms=wall_ms)

    def set(self, *, now_ms: int, wall_ms: int) -> None:
        """Begin a turn at this monotonic moment (ms), which is this time of day (ms since 1970)."""
        self.turn_ms = now_ms
        self._wall_offset_ms = wall_ms - now_ms

    def wall_ms(self, now_ms: int) -> int:
        """Return the time of day (ms since 1970) at the monotonic moment `now_ms`."""
        return now_ms + self._wall_offset_ms
