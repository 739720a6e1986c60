"""The histograms of the ranges that were looked at last, for a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

KEPT_MAX: Final = 64
"""Ranges whose bars are kept, of 60 bars each."""
KEPT_SECONDS: Final = 60.0
"""A topic may have been deleted and made again with as many records."""

RangeKey = tuple[Hashable, ...]
"""For each part of a range its address, partition, start and end."""


class TimeBar(NamedTuple):
    """The offsets between two moments, in milliseconds since 1970; the second is not part of it."""

    begin_ms: int
    end_ms: int
    offsets: int


class KeptBars:
    """The bars of the ranges that were looked at last; used by threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # By the time at which they were made, oldest first.
        self._bars: dict[RangeKey, tuple[float, list[TimeBar]]] = {}
        self._lock = threading.Lock()

    def get(self, key: RangeKey) -> list[TimeBar] | None:
        """Return the bars of a range, if they are kept."""
        with self._lock:
            made_at, bars = self._bars.get(key, (0.0, None))
            return bars if self._clock() - made_at < KEPT_SECONDS else None

    def put(self, key: RangeKey, bars: list[TimeBar]) -> None:
        """Keep the bars of a range, in place of the oldest if they are too many."""
        with self._lock:
            self._bars.pop(key, None)
            self._bars[key] = self._clock(), bars
            while len(self._bars) > KEPT_MAX:
                del self._bars[next(iter(self._bars))]
