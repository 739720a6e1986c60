"""What views read: when it grew, and who follows its end for the fetches that wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from broker.view_topics.view_slices import SliceBudget

SETTLED_MS: Final = 250
"""What has been there for so long is old: see `ViewPartition.has_news`."""

NEVER_MS: Final = -(10**15)
"""Before every moment."""


class Watcher(Protocol):
    """What follows the end of a source for the fetches that wait: a view, or many of them together."""

    @property
    def wait_key(self) -> int:
        """Its number among all that is waited for."""

    def is_awaited(self) -> bool:
        """Whether a fetch waits for it."""

    def catch_up(self, budget: SliceBudget) -> Iterator[None]:
        """Look at what is new for the fetches that wait; yields whenever the budget says so."""


class ViewSource:
    """What several views read: a stream, or all of a vnode; when it grew, and who is to be told."""

    __slots__ = ("_end", "_end_ms", "_grown_ms", "_old_end", "readers", "watching")

    def __init__(self) -> None:
        # The partitions of views that are open, by their wait keys; and those for which fetches may wait.
        self.readers: set[int] = set()
        self.watching: dict[int, Watcher] = {}
        self._grown_ms = NEVER_MS
        # Where it ended at `_end_ms`, and `SETTLED_MS` or more before that.
        self._end_ms = NEVER_MS
        self._end = self._old_end = 0

    def watch(self, watcher: Watcher) -> None:
        """Let it catch up whenever there is more, as long as fetches wait for it."""
        self.watching[watcher.wait_key] = watcher

    def advanced(self, end: int, now_ms: int) -> None:
        """The source ends at `end` now."""
        self._grown_ms = now_ms
        if now_ms - self._end_ms >= SETTLED_MS:
            self._old_end, self._end, self._end_ms = self._end, end, now_ms

    def settled_end(self, end: int, now_ms: int) -> int:
        """Up to where the source, which ends at `end`, has been there for `SETTLED_MS` at least."""
        if now_ms - self._grown_ms >= SETTLED_MS:
            return end
        return self._end if now_ms - self._end_ms >= SETTLED_MS else self._old_end
