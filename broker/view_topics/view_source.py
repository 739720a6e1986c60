"""The sources of views: the times of their growth, and the watchers of their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from broker.loop.slices import WaitingSteps
from broker.view_topics.view_slices import SliceBudget

SETTLED_MS: Final = 250
"""The age from which records are not new: see `ViewPartition.has_news`."""

NEVER_MS: Final = -(10**15)
"""A time before every moment."""


class Watcher(Protocol):
    """A follower of the end of a source for the fetches that wait: a view, or many of them together."""

    @property
    def wait_key(self) -> int:
        """Its key among all that fetches wait for."""

    def is_awaited(self) -> bool:
        """Whether a fetch waits for it."""

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        """Evaluate new records for the fetches that wait, yielding when the budget says so."""


class ViewSource:
    """The source of several views, a stream or a whole vnode: its growth, readers and watchers."""

    __slots__ = ("_end", "_end_ms", "_grown_ms", "_old_end", "readers", "watching")

    def __init__(self) -> None:
        # The open partitions of views, by their wait keys; and those for which fetches may wait.
        self.readers: set[int] = set()
        self.watching: dict[int, Watcher] = {}
        self._grown_ms = NEVER_MS
        # The end at `_end_ms`, and the end at least `SETTLED_MS` before that.
        self._end_ms = NEVER_MS
        self._end = self._old_end = 0

    def watch(self, watcher: Watcher) -> None:
        """Have the watcher catch up whenever there is more, as long as fetches wait for it."""
        self.watching[watcher.wait_key] = watcher

    def advanced(self, end: int, now_ms: int) -> None:
        """Note that the source now ends at `end`."""
        self._grown_ms = now_ms
        if now_ms - self._end_ms >= SETTLED_MS:
            self._old_end, self._end, self._end_ms = self._end, end, now_ms

    def settled_end(self, end: int, now_ms: int) -> int:
        """Return the end of the records that have been there for at least `SETTLED_MS`."""
        if now_ms - self._grown_ms >= SETTLED_MS:
            return end
        return self._end if now_ms - self._end_ms >= SETTLED_MS else self._old_end
