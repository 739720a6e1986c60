"""Records as they come, for a page that follows a topic: read in a thread, taken by the stream in pushes.

What a reader cannot see in the time is not sent: of each push the last ROWS records are shown, and the others
are counted.  A follower that is far behind, such as one whose browser slept, begins again near the end, and
counts what it passed.  Without a condition, batches that are not shown are counted by their heads alone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from console.client import Trouble
from console.fetcher import Fetcher
from console.web.looks import Look, RecordRow
from console.web.record_rows import Place
from console.web.search import LIMITS
from protocol.record_reader import iter_records
from protocol.records import read_batch_header
from views.evaluator import Evaluator
from views.filtering import filter_batch

ROWS: Final = 50
"""Records of one push."""
BEHIND_MAX: Final = 10_000
"""Offsets of all partitions by which a follower may be behind when it begins."""
POLL_MS: Final = 200


class Push(NamedTuple):
    """The records since the last push."""

    rows: list[RecordRow]
    """The last ones, the newest first."""
    left_out: int
    """Records before them."""
    passed: int
    """Offsets that were passed without a look, as the follower was too far behind."""
    positions: Mapping[Place, int]
    away: bool
    """Whether a broker is away; the follower goes on by itself when it is back."""


class Follower:
    """A reader from some positions on; `follow` runs in a thread, `take` is called from another."""

    def __init__(
        self,
        bootstrap: str,
        positions: Mapping[Place, int],
        look: Look,
        evaluator: Evaluator | None = None,
        *,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare to read; with an evaluator, only the records that it keeps."""
        self._bootstrap = bootstrap
        self._look = look
        self._evaluator = evaluator
        self._wait = wait
        self._lock = threading.Lock()
        self._positions = dict(positions)
        self._rows: deque[RecordRow] = deque(maxlen=ROWS)
        self._came = 0
        self._passed = 0
        self._away = False
        self._changed = False
        self._left = False

    def skip_to(self, ends: Mapping[Place, int]) -> None:
        """Begin near the ends when all that lies before them is too much."""
        behind = sum(max(0, ends[place] - offset) for place, offset in self._positions.items())
        if behind <= BEHIND_MAX:
            return
        each = BEHIND_MAX // (2 * len(self._positions))
        for place, offset in self._positions.items():
            self._positions[place] = max(offset, ends[place] - each)
            self._passed += self._positions[place] - offset
        self._changed = True

    def leave(self) -> None:
        """Let `follow` end: the browser has left."""
        self._left = True

    def follow(self) -> None:
        """Read until the browser leaves.  Raises: CommandError for what asking again does not mend."""
        trouble = Trouble()
        fetcher = Fetcher(
            self._bootstrap, self._positions, read_committed=True, trouble=trouble, wait=self._wait
        )
        try:
            while not self._left:
                self._poll(fetcher, trouble)
        finally:
            fetcher.close()

    def take(self) -> Push | None:
        """Return what came since the last time, None if nothing did."""
        with self._lock:
            if not self._changed:
                return None
            push = Push(
                list(reversed(self._rows)),
                self._came - len(self._rows),
                self._passed,
                dict(self._positions),
                self._away,
            )
            self._rows.clear()
            self._came = self._passed = 0
            self._changed = False
            return push

    def _poll(self, fetcher: Fetcher, trouble: Trouble) -> None:
        trouble.seen = False
        found = fetcher.poll_batches(POLL_MS)
        rows: list[RecordRow] = []
        came = 0
        for place, (batches, start) in found.items():
            room = ROWS
            # The last batches come first: what is before a full push is only counted.
            for batch in reversed(batches):
                count, some = self._look_at(place, batch, start, wanted=room)
                came += count
                room -= len(some)
                rows += some
        rows.sort(key=lambda row: row.timestamp_ms)
        with self._lock:
            self._rows.extend(rows)
            self._came += came
            for place in self._positions:
                self._positions[place] = fetcher.position(place)
            self._changed |= bool(found) or trouble.seen != self._away
            self._away = trouble.seen

    def _look_at(
        self, place: Place, batch: memoryview, start: int, *, wanted: int
    ) -> tuple[int, list[RecordRow]]:
        """Return how many records of a batch count, and the last of them."""
        header = read_batch_header(batch)
        kept: bytes | memoryview | None = batch
        count = header.record_count
        if not wanted and self._evaluator is None and header.base_offset >= start:
            return count, []
        if self._evaluator is not None:
            made = filter_batch(self._evaluator, batch, partition=place.partition, limits=LIMITS)
            kept, count = made.batch, made.matched
        if kept is None:
            return 0, []
        records = list(iter_records(kept))
        if header.base_offset < start:
            records = [record for record in records if record.offset >= start]
            count = len(records)
        shown = records[-wanted:] if wanted else []
        return count, [self._look.row(place.partition, record) for record in shown]
