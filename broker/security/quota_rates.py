"""The arithmetic of quotas: a rate over some windows of time, and a bucket of tokens.

A rate is what was counted in the last `count` windows by the time since the first of them began, which is
taken to be no less than all windows but one: at the start, as much as that time allows may come at once.

    rate = counted / elapsed            wait = (rate - quota) / quota * elapsed

A bucket holds `count` windows' worth of tokens, fills at the quota's rate, and may once go below zero.
Source: Kafka 4.3's Rate, SampledStat, QuotaUtils.throttleTime, TokenBucket; KIP-599.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

WAIT_MS_MAX: Final = 2**31 - 1
"""The longest that a client can be told."""


def _whole_ms(wait_ms: float) -> int:
    return round(min(wait_ms, WAIT_MS_MAX))


class Windows(NamedTuple):
    """The number of the windows, and the length of each."""

    number: int = 11
    length_ms: int = 1_000


class Rate:
    """The amounts counted in the last windows."""

    __slots__ = ("_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: deque[list[float]] = deque()
        """[beginning of the window (ms), sum] of each, the oldest first."""

    def count(self, amount: float, now_ms: int) -> None:
        """Count an amount, or take it back."""
        samples, length_ms = self._samples, self._windows.length_ms
        if not samples or now_ms - samples[-1][0] >= length_ms:
            samples.append([now_ms, 0.0])
            if len(samples) > self._windows.number:
                samples.popleft()
        samples[-1][1] += amount

    def total(self, now_ms: int) -> float:
        """Return what was counted in all windows."""
        samples = self._samples
        while samples and now_ms - samples[0][0] >= self._windows.number * self._windows.length_ms:
            samples.popleft()
        return sum(amount for _, amount in samples)

    def wait_ms(self, quota: float, now_ms: int) -> int:
        """Return how long to wait until the rate is the quota, 0 if it is not above."""
        total, samples, (count, length_ms) = self.total(now_ms), self._samples, self._windows
        if not total:
            return 0
        elapsed_ms = now_ms - int(samples[0][0])
        elapsed_ms += max(0, count - 1 - elapsed_ms // length_ms) * length_ms
        elapsed_ms = max(elapsed_ms, length_ms)
        excess = total * 1_000 / elapsed_ms - quota
        return _whole_ms(excess / quota * elapsed_ms) if excess > 0 else 0


class TokenBucket:
    """Tokens for changes, of which each takes some."""

    __slots__ = ("_filled_ms", "_tokens", "_windows")

    def __init__(self, windows: Windows, quota: float, now_ms: int) -> None:
        self._windows = windows
        self._filled_ms = now_ms
        self._tokens = self._burst(quota)

    def _burst(self, quota: float) -> float:
        return self._windows.number * self._windows.length_ms / 1_000 * quota

    def wait_ms(self, quota: float, now_ms: int) -> int:
        """Return how long to wait until there are tokens again, 0 if there are."""
        self._fill(quota, now_ms)
        return _whole_ms(-self._tokens / quota * 1_000) if self._tokens < 0 else 0

    def take(self, amount: float, quota: float, now_ms: int) -> None:
        """Take tokens, even those that are not there."""
        self._fill(quota, now_ms)
        self._tokens -= amount

    def _fill(self, quota: float, now_ms: int) -> None:
        self._tokens = min(self._burst(quota), self._tokens + quota * (now_ms - self._filled_ms) / 1_000)
        self._filled_ms = now_ms
