"""Calls that wait: fetches for data, and any call for a moment in time.

A parked fetch counts the bytes that arrive on its streams and is woken when `min_bytes` are there or its
deadline has come; it reads only then.  An append therefore costs nothing on streams nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final

from broker.loop.call import Call

SWEEP_AFTER: Final = 64
"""Cancelled deadlines that are left lying before anything is swept."""


class Timer:
    """One deadline; whoever made it may cancel it, and what it held on to is free then."""

    __slots__ = ("_action", "_deadlines")

    def __init__(self, deadlines: Deadlines, action: Callable[[int], None]) -> None:
        self._deadlines = deadlines
        self._action: Callable[[int], None] | None = action

    @property
    def is_over(self) -> bool:
        """True once it ran or was cancelled."""
        return self._action is None

    def run(self, now_ms: int) -> None:
        """Do what was to be done, once."""
        action, self._action = self._action, None
        if action is not None:
            action(now_ms)

    def cancel(self) -> None:
        """Do nothing when the time comes."""
        if self._action is not None:
            self._action = None
            self._deadlines.cancelled()


class Deadlines:
    """Moments at which something must happen, the nearest first.

    Cancelled ones are swept out once they are the larger part: clients may ask for waits of weeks and be
    answered in a millisecond, over and over.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._order = count()
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def add(self, deadline_ms: int, action: Callable[[int], None]) -> Timer:
        """Run `action(now_ms)` in the first tick at or after `deadline_ms`."""
        timer = Timer(self, action)
        heappush(self._heap, (deadline_ms, next(self._order), timer))
        return timer

    def cancelled(self) -> None:
        """Count a timer that was cancelled; timers call it themselves."""
        self._cancelled += 1
        if self._cancelled > SWEEP_AFTER and 2 * self._cancelled > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].is_over]
            heapify(self._heap)
            self._cancelled = 0

    def next_deadline(self) -> int | None:
        """The nearest deadline, None when nothing waits."""
        heap = self._heap
        while heap and heap[0][2].is_over:
            heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None

    def run_due(self, now_ms: int) -> None:
        """Run every action whose time has come."""
        while (deadline_ms := self.next_deadline()) is not None and deadline_ms <= now_ms:
            heappop(self._heap)[2].run(now_ms)


class ParkedFetch:
    """A fetch that had too little to return.  `resume(now_ms)` reads again and answers."""

    __slots__ = ("call", "keys", "min_bytes", "resume", "size_bytes", "timer")

    def __init__(
        self,
        call: Call[Any],
        *,
        keys: list[int],
        size_bytes: int,
        min_bytes: int,
        resume: Callable[[int], None],
    ) -> None:
        self.call = call
        # What it waits for: `Partition.wait_key`, which for a stored partition is its stream's id.
        self.keys = keys
        self.size_bytes = size_bytes
        self.min_bytes = min_bytes
        self.resume = resume
        self.timer: Timer | None = None


class FetchWaiters:
    """All parked fetches, by the partitions they wait for."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._by_key: dict[int, dict[int, ParkedFetch]] = {}
        self._by_call: dict[int, ParkedFetch] = {}

    def __len__(self) -> int:
        return len(self._by_call)

    def park(self, fetch: ParkedFetch, *, deadline_ms: int) -> None:
        """Keep the fetch until enough bytes arrive on its partitions or the deadline passes."""
        for key in fetch.keys:
            self._by_key.setdefault(key, {})[id(fetch)] = fetch
        self._by_call[id(fetch.call)] = fetch
        fetch.call.holder = self
        fetch.timer = self._deadlines.add(deadline_ms, lambda now_ms: self._finish(fetch, now_ms))

    def waits_for(self, key: int) -> bool:
        """Whether any fetch waits for this partition."""
        return key in self._by_key

    def waiting_for(self, key: int) -> int:
        """How many fetches wait for this partition."""
        return len(self._by_key.get(key, ()))

    def advanced(self, key: int, added_bytes: int, now_ms: int) -> None:
        """Count bytes that became readable and wake the fetches that now have enough."""
        for fetch in tuple(self._by_key.get(key, {}).values()):
            fetch.size_bytes += added_bytes
            if fetch.size_bytes >= fetch.min_bytes:
                self._finish(fetch, now_ms)

    def wake(self, keys: Iterable[int], now_ms: int) -> None:
        """Answer the fetches on these partitions at once: they were deleted or their log start moved."""
        for key in keys:
            for fetch in tuple(self._by_key.get(key, {}).values()):
                self._finish(fetch, now_ms)

    def wake_all(self, now_ms: int) -> None:
        """Answer every parked fetch, as at shutdown."""
        for fetch in tuple(self._by_call.values()):
            self._finish(fetch, now_ms)

    def cancel(self, call: Call[Any]) -> None:
        """Forget the fetch of a client that is gone."""
        fetch = self._by_call.get(id(call))
        if fetch is not None:
            self._forget(fetch)

    def _finish(self, fetch: ParkedFetch, now_ms: int) -> None:
        if id(fetch.call) in self._by_call:
            self._forget(fetch)
            fetch.resume(now_ms)

    def _forget(self, fetch: ParkedFetch) -> None:
        if fetch.timer is not None:
            fetch.timer.cancel()
        fetch.call.holder = None
        del self._by_call[id(fetch.call)]
        for key in fetch.keys:
            waiting = self._by_key[key]
            del waiting[id(fetch)]
            if not waiting:
                del self._by_key[key]
