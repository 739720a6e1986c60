"""Clients that were not let in: a line in the log for each, but not more than one in a second."""

from __future__ import annotations

import logging
from typing import Final

logger = logging.getLogger("kawal.security")

INTERVAL_NS: Final = 1_000_000_000
"""A crowd of wrong clients must not fill the log."""

SHOWN_MAX: Final = 256
"""Characters of a reason that are logged: part of it may be chosen by the client."""


class RefusedClients:
    """The log of refused clients, which counts those that it leaves out."""

    __slots__ = ("_logged_ns", "_unlogged")

    def __init__(self) -> None:
        self._logged_ns: int | None = None
        self._unlogged = 0

    def note(self, host: str, why: str, now_ns: int) -> None:
        """Log a refusal, or count it if the last one was logged a moment ago."""
        if self._logged_ns is not None and now_ns - self._logged_ns < INTERVAL_NS:
            self._unlogged += 1
            return
        others = f" (and {self._unlogged} more since the last line)" if self._unlogged else ""
        self._logged_ns, self._unlogged = now_ns, 0
        shown = why if len(why) <= SHOWN_MAX else f"{why[:SHOWN_MAX]}…"
        logger.warning("refused a client from %s: %s%s", host, shown, others)
