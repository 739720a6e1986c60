"""The end of the views over a vnode: after the newest frame that has something for them.

A vnode's versions continue with records of internal topics and with the vnode's own marks, which no view
shows.  A view that ended there would have a tail that its readers never reach. So it ends after a frame with
a record of a topic (or a change of a topic, for views that show those), and before the first record whose
transaction is undecided.

An end never goes back, or readers that have come to it would begin anew: at a start, too, it comes after the
records of topics that were deleted.

What has come since the last look is looked at in steps, as one request may have written to 190,000 streams in
95 frames, which took 170 ms.  Until the last step the ends stay where they were:

    frames     of which streams are they?      the data's end, the changes' end, and the streams touched
    streams    is one undecided?               then its first undecided version keeps the ends back
    undecided  is the oldest one still so?     with that one decided, the next oldest
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_changes import CHANGES_STREAM
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace, Steps
from wal.format import EntryKind

if TYPE_CHECKING:
    from broker.view_topics.stream_owners import StreamOwners
    from wal.log import VnodeLog

FRAMES_MAX: Final = 100
"""Frames whose tables are read, one in each step; if there are more, the log's index is asked."""

STEPS_AT_ONCE: Final = 2
"""The steps, 1 to 2 ms each, that a question for an end takes; who wants the latest takes all: `settle`."""

EXACT_MAX: Final = 8
"""The undecided streams of one look whose version is read from the table of a frame, 1 to 2 ms each.

Of others the version of their extent is taken: what was decided behind it in the same frame is shown later.
"""


NOT_UNDECIDED: Final = (-1, -1)

MANY: Final = 1 << 62
"""The version after all others, which stands for frames that were not looked at one by one."""

Seen = tuple[int, Sequence[int], Sequence[int]]
"""The version after a frame, the streams that have records in it, and those that have meta entries."""


class VnodeTail:
    """The end of one vnode for its views; brought up to date at each query."""

    def __init__(self, log: VnodeLog, owners: StreamOwners) -> None:
        self._log = log
        self._owners = owners
        self._scanned = log.end_of_frames_with(owners.ever_owned())
        self._data_end = self._change_end = self._scanned
        # The first undecided offset of each stream that has one, and a version at or before its own; the same
        # by version, with entries that are outdated.
        self._undecided: dict[int, tuple[int, int]] = {}
        self._by_version: list[tuple[int, int, int]] = []
        # The steps that are left of a look, and the ends that the last finished look has shown.
        self._look: Iterator[None] | None = None
        self._is_begun = False
        self._shown_data_end = self._shown_end = 0

    @property
    def is_current(self) -> bool:
        """Whether the ends are those of all that has come; a few steps are taken first."""
        self._refresh()
        return self._is_begun and self._look is None and self._scanned >= self._log.next_version

    def settle(self) -> Steps:
        """Look at all that has come so far, with pauses."""
        end = self._log.next_version
        while not self._is_begun or self._scanned < end:
            self._refresh(1)
            if self._look is not None:
                yield

    def data_end(self) -> int:
        """Return the version after the newest decided record of a topic."""
        self._refresh()
        return self._visible(self._shown_data_end)

    def change_end(self) -> int:
        """Return the version after the newest change of a topic."""
        self._refresh()
        return self._visible(self._change_end)

    def end(self) -> int:
        """Return the version after the newest of both."""
        self._refresh()
        return self._visible(self._shown_end)

    def _visible(self, end: int) -> int:
        """Return an end, but for what readers are not shown yet (wal/hidden.py)."""
        return max(min(end, self._log.shown_version), self._log.first_version)

    def _refresh(self, steps: int = STEPS_AT_ONCE) -> None:
        """Take some steps of the look that is under way, or of a new one."""
        while steps > 0:
            if self._look is None:
                if not self._is_begun:
                    self._look = self._beginning()
                elif self._scanned >= self._log.next_version:
                    return
                else:
                    self._look = self._looking(self._log.next_version)
            look, self._look = self._look, None
            try:
                next(look)
            except StopIteration:
                continue
            # One that raises begins again with the next question.
            self._look = look
            steps -= 1

    def _beginning(self) -> Iterator[None]:
        """Look at the transactions of before: until then nothing is seen."""
        yield from self._check(self._log.undecided_streams())
        self._is_begun = True
        self._show()

    def _looking(self, end: int) -> Iterator[None]:
        """Look at the frames up to a version; then the ends are those there."""
        newest = self._log.newest_streams(self._scanned)
        data_end, change_end = self._data_end, self._change_end
        touched: set[int] = set()
        pace = Pace(PLAIN_ITEMS_PER_STEP)
        for next_version, streams, metas in self._stored(end) if newest is None else newest:
            if CHANGES_STREAM in metas:
                change_end = next_version
            owned = [number for number in streams if number in touched or self._owners.owns(number)]
            touched.update(owned)
            if owned and next_version:
                data_end = next_version
            if next_version == MANY:
                data_end = max(self._data_end, self._log.end_of_frames_with(self._owners.ever_owned()))
                # The index does not know the places of changes.
                change_end = end
            if pace.due(1 + len(streams)):
                yield
        yield from self._check(touched)
        yield from self._check_oldest()
        self._data_end, self._change_end, self._scanned = data_end, change_end, end
        self._show()

    def _stored(self, end: int) -> Iterator[Seen]:
        """Yield the streams of frames as they are stored; where there are too many, those with producers."""
        for number, frame in enumerate(self._log.frames(self._scanned)):
            if frame.base_version >= end:
                return
            if number >= FRAMES_MAX:
                streams = self._log.streams_with_producers()
                for start in range(0, len(streams), PLAIN_ITEMS_PER_STEP):
                    yield 0, streams[start : start + PLAIN_ITEMS_PER_STEP], ()
                yield MANY, (), ()
                return
            kinds = frame.read_kinds()
            metas = [stream_id for stream_id, kind in kinds if kind == EntryKind.META]
            data = [stream_id for stream_id, kind in kinds if kind != EntryKind.META]
            yield frame.next_version, data, metas

    def _check(self, streams: Iterable[int]) -> Iterator[None]:
        """Find out which of the streams are undecided, and from which version on."""
        exact = 0
        pace = Pace(PLAIN_ITEMS_PER_STEP)
        for stream_id in streams:
            stable = self._undecided_from(stream_id)
            is_read = False
            if stable is not None and self._undecided.get(stream_id, NOT_UNDECIDED)[0] != stable:
                exact += 1
                is_read = self._note(stream_id, stable, exactly=exact <= EXACT_MAX)
            if is_read or pace.due():
                yield

    def _check_oldest(self) -> Iterator[None]:
        """Pass over the streams that are decided by now, from the oldest version on."""
        exact = 0
        pace = Pace(PLAIN_ITEMS_PER_STEP)
        while self._by_version:
            version, stream_id, stable = self._by_version[0]
            is_known = self._undecided.get(stream_id) == (stable, version)
            now = self._undecided_from(stream_id) if is_known else None
            if is_known and now == stable:
                return
            heappop(self._by_version)
            if is_known:
                del self._undecided[stream_id]
            if now is not None:
                exact += 1
                self._note(stream_id, now, exactly=exact <= EXACT_MAX)
            if pace.due():
                yield

    def _undecided_from(self, stream_id: int) -> int | None:
        """Return the first undecided offset of a stream of a topic; None if all of it is decided."""
        log = self._log
        end = log.counted_end(stream_id)
        stable = log.producers(stream_id).last_stable_offset(end, log.log_start(stream_id))
        return stable if stable < end and self._owners.owns(stream_id) else None

    def _note(self, stream_id: int, stable: int, *, exactly: bool) -> bool:
        """Remember that a stream is undecided; return whether a frame was read for that."""
        log = self._log
        version = log.version_of(stream_id, stable) if exactly else log.extent_version(stream_id, stable)
        if version is not None:
            self._undecided[stream_id] = stable, version
            heappush(self._by_version, (version, stream_id, stable))
        return exactly

    def _show(self) -> None:
        """Let the ends be seen.  None goes back: what was decided once is so, wherever its extent begins."""
        limit = self._by_version[0][0] if self._by_version else MANY
        newest = max(self._data_end, self._change_end)
        self._shown_data_end = max(self._shown_data_end, min(self._data_end, limit))
        self._shown_end = max(self._shown_end, min(newest, limit))
