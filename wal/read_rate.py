"""A rate for what is read back from the object store: each read is told how long it has to wait."""

from __future__ import annotations

from collections.abc import Callable


class ReadRate:
    """Reads one after the other, each as long after the one before as that took at the limit.

    So a second has as many bytes as the limit says, and one block more at most.
    """

    def __init__(self, limit: Callable[[], int], now_ms: Callable[[], int]) -> None:
        """`limit()` gives the bytes in a second that are allowed now."""
        self._limit = limit
        self._now_ms = now_ms
        self._free_at_ms = 0.0

    def wait_ms(self, size_bytes: int) -> int:
        """Return after how many ms so many bytes may be read, and count them; 0 bytes only ask."""
        now_ms = self._now_ms()
        begins_ms = max(self._free_at_ms, now_ms)
        if size_bytes:
            self._free_at_ms = begins_ms + size_bytes * 1_000 / self._limit()
        return int(begins_ms - now_ms)
