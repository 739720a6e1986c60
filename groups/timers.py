"""Moments at which a group must act, by name.

Most timers are sessions, moved ahead by every heartbeat and never due. Moving one ahead only notes the new
moment; the heap is corrected when the old moment comes. So a heartbeat costs two dictionary look-ups, and the
heap holds one entry per timer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

Action = Callable[[int], None]


CORRECTED_AT_ONCE: Final = 200
"""Moved timers that are put in their places at a time, in 0.4 ms: 10,000 sessions may begin in one moment.

A turn of the event loop does so three times for each coordinator: it asks for the deadline before and after
it runs what is due."""


class TimerKey(NamedTuple):
    """A timer's name: its kind, its group and its member ("" for the group's own)."""

    kind: str
    group_id: str
    member_id: str = ""


Failed = Callable[[TimerKey, Exception], None]
"""Called with a timer whose action has raised."""


class Timers:
    """All timers of all groups. Times are monotonic milliseconds."""

    __slots__ = ("_heap", "_order", "_set")

    def __init__(self) -> None:
        # Deadline, action, and the moment under which the timer's one live entry is in the heap.
        self._set: dict[TimerKey, tuple[int, Action, int]] = {}
        self._heap: list[tuple[int, int, TimerKey]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._set)

    def __contains__(self, key: TimerKey) -> bool:
        return key in self._set

    def set(self, key: TimerKey, deadline_ms: int, action: Action) -> None:
        """Run `action(now_ms)` in the first `run_due` at or after `deadline_ms`; replaces an older timer."""
        known = self._set.get(key)
        if known is not None and known[2] <= deadline_ms:
            self._set[key] = (deadline_ms, action, known[2])
            return
        self._set[key] = (deadline_ms, action, deadline_ms)
        heappush(self._heap, (deadline_ms, next(self._order), key))

    def set_once(self, key: TimerKey, deadline_ms: int, action: Action) -> None:
        """Set a timer as `set` does, but keep one that is set already."""
        if key not in self._set:
            self.set(key, deadline_ms, action)

    def cancel(self, key: TimerKey) -> None:
        """Forget the timer, if there is one."""
        self._set.pop(key, None)

    def tables(self) -> tuple[dict[TimerKey, tuple[int, Action, int]], list[tuple[int, int, TimerKey]]]:
        """Return what holds the timers, to be emptied when they are of no use any more."""
        return self._set, self._heap

    def deadline(self, key: TimerKey) -> int | None:
        """Return when the timer is due; None if it is not set."""
        known = self._set.get(key)
        return None if known is None else known[0]

    def next_deadline(self) -> int | None:
        """Return when the next timer is due, None if none is set; the moment may be early, never late."""
        self._correct_top(CORRECTED_AT_ONCE)
        return self._heap[0][0] if self._heap else None

    def _correct_top(self, steps: int) -> int:
        """Bring the top of the heap up to date; return how many steps are left, 0: it may be early."""
        heap = self._heap
        while heap and steps:
            queued_ms, _, key = heap[0]
            known = self._set.get(key)
            if known is None or known[2] != queued_ms:
                heappop(heap)
            elif known[0] == queued_ms:
                break
            else:
                self._requeue(key, known)
            steps -= 1
        return steps

    def run_due(self, now_ms: int, failed: Failed | None = None, *, at_most: int = sys.maxsize) -> None:
        """Run the actions whose time has come, in the order of their deadlines.

        One that raises is over, and the others run all the same: `failed(key, error)` learns of it.  Without
        `failed` the error is raised here.  What is beyond `at_most` stays due.
        """
        steps = CORRECTED_AT_ONCE
        for _ in range(at_most):
            steps = self._correct_top(steps)
            if not steps or not self._heap or self._heap[0][0] > now_ms:
                return
            _, _, key = heappop(self._heap)
            _, action, _ = self._set.pop(key)
            try:
                action(now_ms)
            except Exception as error:
                if failed is None:
                    raise
                failed(key, error)

    def _requeue(self, key: TimerKey, known: tuple[int, Action, int]) -> None:
        """Move the timer at the top of the heap to where its deadline, moved ahead meanwhile, belongs."""
        heappop(self._heap)
        deadline_ms, action, _ = known
        self._set[key] = (deadline_ms, action, deadline_ms)
        heappush(self._heap, (deadline_ms, next(self._order), key))
