"""The streams that retention must look at: those written to, and those whose oldest records may be too old.

A check costs what is due, not what exists.  What is written waits for the next check, because a stream grows
by it; everything else has a time of day before which nothing in it can expire.

Streams made together have consecutive ids, so times lie in columns of `PAGE` streams and what was written to
in bit masks of them: a topic of 190,000 partitions takes 20 bytes for each, not 320 as objects would.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from wal.retention import Oldest

SWEEP_AFTER: Final = 64
"""Outdated entries that stay in the queue before any are removed."""

NEVER: Final = 1 << 62
"""The time of streams in which nothing expires unless something is written."""

PAGE_BITS: Final = 6
PAGE: Final = 1 << PAGE_BITS
"""Streams with consecutive ids whose times lie together."""

NOTHING_DUE: Final = array("q", [NEVER]) * PAGE

SPAN_BITS: Final = 16
"""Streams due within 2^16 ms, about a minute, wait in one column; a check looks at all of the last."""


class Walked(NamedTuple):
    """The oldest logical segment of a stream that was walked."""

    oldest: Oldest
    clean_end: int
    """The end of the compacted part at the time: after that it is another one."""


class RetentionQueue:
    """Streams by the time of day at which they are due, and those that were written to."""

    def __init__(self) -> None:
        self.walks: dict[int, Walked] = {}
        """The oldest segments of streams, if they were walked."""
        self._due: dict[int, array[int]] = {}
        """When each stream is due, by page."""
        self._timed = 0
        """The streams that are due some day."""
        self._waiting: dict[int, array[int]] = {}
        """The streams due within each span of time; outdated ones, too, and some twice."""
        self._spans: list[int] = []
        """The spans, as a heap."""
        self._entries = 0
        self._open: list[tuple[int, array[int]]] = []
        """The spans that a check goes through; the next one goes on if it ends early."""
        self._checked_ms = -NEVER
        """The time of day of the last check."""
        self._touched: dict[int, int] = {}
        """The streams written to, by page: a bit for each."""

    def touch(self, stream_ids: Iterable[int]) -> None:
        """Have these streams looked at by the next check."""
        touched = self._touched
        for stream_id in stream_ids:
            page = stream_id >> PAGE_BITS
            touched[page] = touched.get(page, 0) | 1 << (stream_id & PAGE - 1)

    def forget(self, stream_id: int) -> None:
        """Forget a stream that was deleted, is empty, or keeps everything."""
        self.walks.pop(stream_id, None)
        self._replace(stream_id, NEVER)
        page = stream_id >> PAGE_BITS
        if self._due.get(page) == NOTHING_DUE:
            del self._due[page]

    def put(self, stream_id: int, due_ms: int) -> None:
        """Have the stream looked at by the first check at or after this time of day."""
        due_ms = min(due_ms, NEVER)
        if due_ms <= self._checked_ms:
            # The check that goes on may yet come to what was due: this one is for the next.
            self.touch([stream_id])
            due_ms = NEVER
        span = due_ms >> SPAN_BITS
        # What was due within the same span waits there already.
        if self._replace(stream_id, due_ms) >> SPAN_BITS == span or due_ms == NEVER:
            return
        self._wait(span, [stream_id])
        if self._entries > 2 * self._timed + SWEEP_AFTER:
            self._sweep()

    def take(self, wall_ms: int) -> Iterator[int]:
        """Take the streams to look at now, each once and without order; they are searched for bit by bit."""
        taken, self._touched = self._touched, {}
        self._checked_ms = wall_ms
        while self._spans and self._spans[0] << SPAN_BITS <= wall_ms:
            span = heappop(self._spans)
            self._entries -= len(self._waiting[span])
            self._open.append((span, self._waiting.pop(span)))
        return self._taken(taken, wall_ms)

    def _taken(self, touched: dict[int, int], wall_ms: int) -> Iterator[int]:
        for stream_id in _streams_in(touched):
            if self._due_ms(stream_id) <= wall_ms:
                self._replace(stream_id, NEVER)
            yield stream_id
        while self._open:
            span, waiting = self._open[-1]
            while waiting:
                stream_id = waiting.pop()
                due_ms = self._due_ms(stream_id)
                if due_ms <= wall_ms:
                    self._replace(stream_id, NEVER)
                    yield stream_id
                elif due_ms >> SPAN_BITS == span:
                    self._wait(span, [stream_id])
            self._open.pop()

    def _due_ms(self, stream_id: int) -> int:
        times = self._due.get(stream_id >> PAGE_BITS)
        return NEVER if times is None else times[stream_id & PAGE - 1]

    def _replace(self, stream_id: int, due_ms: int) -> int:
        """Set when a stream is due, and return when it was."""
        page, place = stream_id >> PAGE_BITS, stream_id & PAGE - 1
        times = self._due.get(page)
        if times is None:
            if due_ms == NEVER:
                return NEVER
            times = self._due[page] = NOTHING_DUE[:]
        before, times[place] = times[place], due_ms
        self._timed += (before == NEVER) - (due_ms == NEVER)
        return before

    def _wait(self, span: int, stream_ids: Iterable[int]) -> None:
        waiting = self._waiting.get(span)
        if waiting is None:
            waiting = self._waiting[span] = array("Q")
            heappush(self._spans, span)
        before = len(waiting)
        waiting.extend(stream_ids)
        self._entries += len(waiting) - before

    def _sweep(self) -> None:
        """Remove what is outdated."""
        for span, waiting in list(self._waiting.items()):
            current = array("Q", {each for each in waiting if self._due_ms(each) >> SPAN_BITS == span})
            self._entries -= len(waiting) - len(current)
            if current:
                self._waiting[span] = current
            else:
                del self._waiting[span]
        self._spans = list(self._waiting)
        heapify(self._spans)


def _streams_in(pages: dict[int, int]) -> Iterator[int]:
    """Yield the streams of bit masks, and take the masks away."""
    while pages:
        page, mask = pages.popitem()
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            yield (page << PAGE_BITS) + lowest.bit_length() - 1
