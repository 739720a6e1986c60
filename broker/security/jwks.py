"""The keys of a token's issuer, read again from time to time; the last good ones stay in use.

due            after the refresh interval, or a token names an unknown key
not before     a pause after the last attempt, which doubles with each failure: tokens with made-up keys
               do not make us ask the issuer all the time
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

logger = logging.getLogger("kawal.security")

UNKNOWN_PAUSE_MS: Final = 10_000
"""The least time between attempts because of unknown keys."""

Read = Callable[[], Mapping[str, Any]]
"""Reads the keys, and may take long.  Raises: OSError, ValueError."""

Run = Callable[[Callable[[], object], Callable[[Exception | None], None]], None]
"""Runs work in a thread, then calls back with its error."""


class Times(NamedTuple):
    """The intervals of reading keys."""

    refresh_ms: int
    backoff_ms: int
    backoff_max_ms: int


class IssuerKeys:
    """The keys at one place."""

    def __init__(self, place: str, read: Read, run: Run, times: Times, now_ms: Callable[[], int]) -> None:
        """`read` is run in a thread by `run`; `place` is for the log."""
        self._place = place
        self._read = read
        self._run = run
        self._times = times
        self._now_ms = now_ms
        self._keys: Mapping[str, Any] = {}
        self._reading = False
        self._failures = 0
        # When keys are due, and before when they are not read whatever comes.
        self._due_ms = self._not_before_ms = now_ms()

    def find(self, kid: str) -> Any | None:
        """Return the key of that name, from those that were read; begin to read them again if that is due."""
        found = self._keys.get(kid)
        if self._now_ms() >= (self._not_before_ms if found is None else self._due_ms):
            self.refresh()
        return found

    def refresh(self) -> None:
        """Begin to read the keys, unless they are being read."""
        if self._reading:
            return
        self._reading = True
        found: list[Mapping[str, Any]] = []
        self._run(lambda: found.append(self._read()), lambda error: self._done(found, error))

    def _done(self, found: list[Mapping[str, Any]], error: Exception | None) -> None:
        self._reading = False
        now_ms, times = self._now_ms(), self._times
        if error is None:
            if not self._keys or self._failures:
                logger.info("%d keys of tokens were read from %s", len(found[0]), self._place)
            self._keys, self._failures = found[0], 0
            self._due_ms = now_ms + times.refresh_ms
            self._not_before_ms = now_ms + UNKNOWN_PAUSE_MS
            return
        logger.error(
            "the keys of tokens at %s cannot be read, and those in use were kept: %s", self._place, error
        )
        pause_ms = min(times.backoff_ms << min(self._failures, 20), times.backoff_max_ms)
        self._failures += 1
        self._due_ms = self._not_before_ms = now_ms + pause_ms
