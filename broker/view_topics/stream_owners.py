"""The topic-partitions to which streams belong, for views over a whole vnode.

The catalogue knows the streams of a topic; a log knows only streams.  The table is made anew on the first
lookup after a change of the catalogue.  Internal topics own nothing here: their records are the broker's.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from protocol.record_headers import encoded_header
from protocol.record_writer import VARINTS
from wal.format import COPIES_BIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker.catalogue.topics import Catalogue, Topic

TOPIC_HEADER: Final = "kawal.topic"
PARTITION_HEADER: Final = "kawal.partition"
OFFSET_HEADER: Final = "kawal.offset"
HEADER_COUNT: Final = 3
_OFFSET_KEY: Final = VARINTS[len(OFFSET_HEADER)] + OFFSET_HEADER.encode()


class Owner:
    """The topic-partition of a stream."""

    __slots__ = ("_prefix", "index", "topic")

    def __init__(self, topic: Topic, index: int) -> None:
        self.topic = topic
        self.index = index
        self._prefix = (
            encoded_header(TOPIC_HEADER, topic.name.encode())
            + encoded_header(PARTITION_HEADER, b"%d" % index)
            + _OFFSET_KEY
        )

    def headers_of(self, offset: int) -> bytes:
        """Return the HEADER_COUNT encoded headers that name the origin of the record at an offset."""
        text = b"%d" % offset
        return self._prefix + VARINTS[len(text)] + text


class StreamOwners:
    """The owners of the streams of one database."""

    def __init__(self, catalogue: Catalogue, database: str) -> None:
        self._catalogue = catalogue
        self._database = database
        self._changes = -1
        # The runs of streams that were made together: first ids, and (topic, first partition, count).
        self._starts: list[int] = []
        self._runs: list[tuple[Topic, int, int]] = []
        self._known: dict[int, Owner | None] = {}
        self._one: int | None = None

    def find(self, stream_id: int) -> Owner | None:
        """Return the owner of a stream; None for streams of internal or deleted topics, and of no topic."""
        if self._changes != self._catalogue.changes:
            self._refresh()
        try:
            return self._known[stream_id]
        except KeyError:
            found = self._known[stream_id] = self._find(stream_id)
            return found

    def only(self, stream_id: int) -> StreamOwners:
        """Return the same table with only this stream."""
        narrowed = StreamOwners(self._catalogue, self._database)
        narrowed._one = stream_id
        return narrowed

    def owns(self, stream_id: int) -> bool:
        """Whether the stream has an owner; takes half a microsecond, as there may be 100,000 to ask about."""
        if self._changes != self._catalogue.changes:
            self._refresh()
        place = bisect_right(self._starts, stream_id) - 1
        if place < 0 or self._one not in (None, stream_id):
            return False
        return stream_id - self._starts[place] < self._runs[place][2]

    def ever_owned(self) -> Callable[[int], bool]:
        """Return what tells whether a stream has an owner now, or may have had one that was deleted since."""
        internal = [topic for topic in self._catalogue.by_name.values() if topic.internal]
        others = {
            stream_id
            for topic in internal
            for _, first_stream, count in runs_of(topic)
            for stream_id in range(first_stream, first_stream + count)
        }
        one = self._one
        return lambda stream_id: (
            not stream_id & COPIES_BIT and stream_id not in others and one in (None, stream_id)
        )

    def _find(self, stream_id: int) -> Owner | None:
        if not self.owns(stream_id):
            return None
        place = bisect_right(self._starts, stream_id) - 1
        topic, first_partition, _ = self._runs[place]
        return Owner(topic, first_partition + stream_id - self._starts[place])

    def _refresh(self) -> None:
        self._changes = self._catalogue.changes
        runs: list[tuple[int, tuple[Topic, int, int]]] = []
        for topic in self._catalogue.by_name.values():
            if topic.view is not None or topic.internal or topic.database != self._database:
                continue
            runs += [(first_stream, (topic, first, count)) for first, first_stream, count in runs_of(topic)]
        runs.sort(key=lambda run: run[0])
        self._starts = [start for start, _ in runs]
        self._runs = [run for _, run in runs]
        self._known = {}


def runs_of(topic: Topic) -> list[tuple[int, int, int]]:
    """Return the runs of a topic's streams that were made together: first partition, first stream, count."""
    ends = [first for first, _ in topic.ranges[1:]] + [topic.planned_count]
    return [
        (first, first_stream, end - first)
        for (first, first_stream), end in zip(topic.ranges, ends, strict=True)
    ]
