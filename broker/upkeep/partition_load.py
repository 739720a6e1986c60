"""The load of a partition that may split: how fast it is written to, and by which keys.

    rate        bytes per second, an average in which what is older counts less (a quarter of the window)
    samples     hashes of keys, at most 256; when they are full, every other one goes, and half as many come

A partition is to be split when its rate has been above the limit for the whole window. It is divided in the
middle, as clients with Kafka's hash do; if the samples say that one half would have less than a quarter of
the records, at their median. A single key cannot be divided.
"""

from __future__ import annotations

from math import exp
from typing import Final

from groups.partition_tree import Range

SAMPLES_MAX: Final = 256
"""The median of so many is within some percent of that of all."""

WINDOW_PARTS: Final = 4

LOOKS_PER_WINDOW: Final = 64
"""The batches of a window that are opened for samples alone, as long as the rate is above the limit."""

WORTH_HALVING: Final = 4
"""The middle divides a partition if each half has at least one in so many samples."""

BACK_OFF_WINDOWS: Final = 10
"""A partition that could not be split is not tried again for so many windows."""


class PartitionLoad:
    """The writes to one partition since the start, or since its last split."""

    __slots__ = (
        "_skipped",
        "_stride",
        "above_since_ms",
        "at_ms",
        "not_before_ms",
        "rate",
        "sampled_ms",
        "samples",
        "why_not",
    )

    def __init__(self, now_ms: int) -> None:
        self.at_ms = now_ms
        self.rate = 0.0
        self.above_since_ms: int | None = None
        self.samples: list[int] = []
        self.sampled_ms = now_ms
        """The time of the last look at keys."""
        self._stride = self._skipped = 1
        self.not_before_ms = 0
        """After a split that was not possible: when it is tried again."""
        self.why_not = ""

    def written(self, size_bytes: int, limit: float, window_ms: int, now_ms: int) -> bool:
        """Count a write; return whether the rate has been above the limit for the window."""
        span_ms = max(window_ms / WINDOW_PARTS, 1)
        before = self.rate_at(now_ms, window_ms)
        self.rate, self.at_ms = before + size_bytes * 1_000 / span_ms, now_ms
        # Writes come in steps: the rate is taken in the middle of each.
        if (before + self.rate) / 2 <= limit:
            self.above_since_ms = None
            return False
        if self.above_since_ms is None:
            self.above_since_ms = now_ms
        return now_ms - self.above_since_ms >= window_ms and now_ms >= self.not_before_ms

    def rate_at(self, now_ms: int, window_ms: int) -> float:
        """Return the rate now, in bytes per second."""
        span_ms = max(window_ms / WINDOW_PARTS, 1)
        return self.rate * exp((self.at_ms - now_ms) / span_ms)

    def sample(self, place: int) -> None:
        """Take a key's place into account, or skip it."""
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self.samples.append(place)
        if len(self.samples) > SAMPLES_MAX:
            self.samples = self.samples[::2]
            self._stride *= 2

    def wants_samples(self, window_ms: int, now_ms: int) -> bool:
        """Whether to look at the keys of the next batch: the partition may be split soon."""
        return self.above_since_ms is not None and now_ms - self.sampled_ms >= window_ms // LOOKS_PER_WINDOW

    def bound(self, own: Range) -> int | None:
        """Return the place at which to divide the partition; None if all that was seen is one key."""
        places = sorted(place for place in self.samples if own.low <= place < own.high)
        if not places:
            return own.middle
        if places[0] == places[-1]:
            return None
        least = len(places) // WORTH_HALVING
        if places[least] < own.middle <= places[-1 - least]:
            return own.middle
        median = places[len(places) // 2]
        return median if median > places[0] else next(place for place in places if place > median)

    def could_not(self, why: str, window_ms: int, now_ms: int) -> None:
        """Note why the partition was not split."""
        self.why_not, self.above_since_ms = why, None
        self.not_before_ms = now_ms + BACK_OFF_WINDOWS * window_ms
