"""A broker's time, which a test may stop and move forward; it never goes back."""

from __future__ import annotations

from collections.abc import Callable


class Clock:
    """Milliseconds since 1970, for timers and for timestamps alike.

    It runs like `steady_ms`, except for the time it was stopped and the time it was moved forward.
    """

    def __init__(self, steady_ms: Callable[[], int]) -> None:
        self._steady_ms = steady_ms
        self._ahead_ms = 0
        # The time it shows while it is stopped.
        self._stopped_at_ms: int | None = None

    @property
    def is_stopped(self) -> bool:
        """True between `stop` and `go`."""
        return self._stopped_at_ms is not None

    def now_ms(self) -> int:
        """Return the time."""
        return self._steady_ms() + self._ahead_ms if self._stopped_at_ms is None else self._stopped_at_ms

    def stop(self) -> None:
        """Stop the clock: time no longer passes by itself."""
        self._stopped_at_ms = self.now_ms()

    def go(self) -> None:
        """Let time pass again, from where it stopped."""
        if self._stopped_at_ms is not None:
            self._ahead_ms = self._stopped_at_ms - self._steady_ms()
            self._stopped_at_ms = None

    def move_to(self, moment_ms: int) -> None:
        """Move forward to a moment; one in the past changes nothing."""
        ahead_ms = max(0, moment_ms - self.now_ms())
        if self._stopped_at_ms is None:
            self._ahead_ms += ahead_ms
        else:
            self._stopped_at_ms += ahead_ms
