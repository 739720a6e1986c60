"""The end of the views over a vnode: after the newest frame that has something for them.

A vnode's versions continue with records of internal topics and with the vnode's own marks, which no view
shows.  A view that ended there would have a tail that its readers never reach. So it ends after a frame with
a record of a topic (or a change of a topic, for views that show those), and before the first record whose
transaction is undecided.

An end never goes back, or readers that have come to it would begin anew: at a start, too, it comes after the
records of topics that were deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_changes import CHANGES_STREAM
from wal.format import EntryKind

if TYPE_CHECKING:
    from broker.view_topics.stream_owners import StreamOwners
    from wal.log import VnodeLog
    from wal.newest_frames import NewestFrame

FRAMES_MAX: Final = 100
"""Frames whose tables are read in one go, about 3 ms; if there are more, the log's index is asked."""


class VnodeTail:
    """The end of one vnode for its views; brought up to date at each query."""

    def __init__(self, log: VnodeLog, owners: StreamOwners) -> None:
        self._log = log
        self._owners = owners
        self._scanned = log.end_of_frames_with(owners.ever_owned())
        self._data_end = self._change_end = self._scanned
        # The first undecided offset of each stream that has one, and its version.
        self._undecided: dict[int, tuple[int, int]] = {}
        self._check_decided(log.undecided_streams())

    def data_end(self) -> int:
        """Return the version after the newest decided record of a topic."""
        self._refresh()
        return self._decided(self._data_end)

    def change_end(self) -> int:
        """Return the version after the newest change of a topic."""
        self._refresh()
        return max(self._change_end, self._log.first_version)

    def end(self) -> int:
        """Return the version after the newest of both."""
        self._refresh()
        return self._decided(max(self._data_end, self._change_end))

    def _decided(self, end: int) -> int:
        return max(min((end, *(version for _, version in self._undecided.values()))), self._log.first_version)

    def _refresh(self) -> None:
        log = self._log
        if self._scanned >= log.next_version:
            return
        newest = log.newest_streams(self._scanned)
        touched = self._read_frames() if newest is None else self._look(newest)
        self._scanned = log.next_version
        self._check_decided(touched)

    def _look(self, frames: list[NewestFrame]) -> set[int]:
        """Look at frames that the log remembers; return the streams of topics."""
        touched: set[int] = set()
        for frame in frames:
            if CHANGES_STREAM in frame.metas:
                self._change_end = frame.next_version
            for stream_id in frame.streams:
                if stream_id in touched or self._owners.owns(stream_id):
                    touched.add(stream_id)
                    self._data_end = frame.next_version
        return touched

    def _read_frames(self) -> set[int]:
        """Look at frames as they are stored; return the streams of topics."""
        log = self._log
        touched: set[int] = set()
        for number, frame in enumerate(log.frames(self._scanned)):
            if number >= FRAMES_MAX:
                self._data_end = max(self._data_end, log.end_of_frames_with(self._owners.ever_owned()))
                # The index does not know the places of changes.
                self._change_end = log.next_version
                touched.update(log.undecided_streams())
                break
            for stream_id, kind in frame.read_kinds():
                if kind == EntryKind.META:
                    if stream_id == CHANGES_STREAM:
                        self._change_end = frame.next_version
                elif stream_id in touched or self._owners.owns(stream_id):
                    touched.add(stream_id)
                    self._data_end = frame.next_version
        return touched

    def _check_decided(self, touched: set[int] | list[int]) -> None:
        """Check the streams that may have a transaction, and those that had one."""
        log = self._log
        for stream_id in {*touched, *self._undecided}:
            high_watermark = log.high_watermark(stream_id)
            stable = log.producers(stream_id).last_stable_offset(high_watermark, log.log_start(stream_id))
            before = self._undecided.pop(stream_id, None)
            if stable >= high_watermark or not self._owners.owns(stream_id):
                continue
            if before is not None and before[0] == stable:
                # The frame with it is not read again for each commit while a transaction is open.
                self._undecided[stream_id] = before
            elif (version := log.version_of(stream_id, stable)) is not None:
                self._undecided[stream_id] = stable, version
