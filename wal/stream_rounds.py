"""The streams with producers in a row, to be gone round a few at a time while they come and go.

Whatever a step does, it touches one or two streams: a list of all of them, for each round, took 56 ms of one
turn for 190,000.

    add       at the end of the row
    remove    the last of the row takes its place
    a round   from the end to the beginning: what moves to a place before it is met twice, nothing is missed
"""

from __future__ import annotations

from wal.stream_producers import StreamProducers


class StreamRow:
    """The ids of a table of streams in a row; the table is changed here only."""

    __slots__ = ("_ids", "_streams")

    def __init__(self, streams: dict[int, StreamProducers]) -> None:
        self._streams = streams
        self._ids: list[int] = []

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place: int) -> int:
        return self._ids[place]

    def add(self, stream_id: int, stream: StreamProducers) -> None:
        """Add a stream that is not there."""
        assert stream_id not in self._streams
        stream.place = len(self._ids)
        self._ids.append(stream_id)
        self._streams[stream_id] = stream

    def remove(self, stream_id: int) -> None:
        """Remove a stream."""
        place = self._streams.pop(stream_id).place
        last_id = self._ids.pop()
        if last_id != stream_id:
            self._ids[place] = last_id
            self._streams[last_id].place = place

    def clear(self) -> None:
        """Remove all streams."""
        self._streams.clear()
        self._ids.clear()


class Round:
    """A way round the row, which begins again at its end."""

    __slots__ = ("_left", "_row")

    def __init__(self, row: StreamRow) -> None:
        self._row = row
        self._left = 0

    def next(self) -> int | None:
        """Return the next stream; None at the end of each round."""
        self._left = min(self._left, len(self._row))
        if not self._left:
            self._left = len(self._row)
            return None
        self._left -= 1
        return self._row[self._left]
