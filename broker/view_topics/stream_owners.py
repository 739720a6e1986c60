"""The topic-partitions to which streams belong, for views over a whole vnode.

The catalogue knows which topic a stream belongs to.  A view remembers the headers of some streams, and asks
each time whether they are still that topic's.  Internal topics own nothing here: their records are the
broker's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.topic import INTERNAL_TOPICS
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
KNOWN_MAX: Final = 200
"""The streams of which a view remembers the headers, in 70 KB; others are made again, in 2 us."""

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
        self.database = database
        # Owners that were asked for lately.
        self._known: dict[int, Owner] = {}
        self._one: int | None = None

    def find(self, stream_id: int) -> Owner | None:
        """Return the owner of a stream; None for streams of internal or deleted topics, and of no topic."""
        place = self._place(stream_id)
        if place is None:
            return None
        known = self._known.get(stream_id)
        if known is None or known.topic is not place[0]:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            known = self._known[stream_id] = Owner(*place)
        return known

    def only(self, stream_id: int) -> StreamOwners:
        """Return the same table with only this stream."""
        narrowed = StreamOwners(self._catalogue, self.database)
        narrowed._one = stream_id
        return narrowed

    def topic_of(self, stream_id: int) -> Topic | None:
        """Return the topic of the stream's owner, if it has one; takes as long."""
        place = self._place(stream_id)
        return None if place is None else place[0]

    def owns(self, stream_id: int) -> bool:
        """Whether the stream has an owner; takes half a microsecond, as there may be 100,000 to ask about."""
        return self._place(stream_id) is not None

    def _place(self, stream_id: int) -> tuple[Topic, int] | None:
        if self._one not in (None, stream_id):
            return None
        found = self._catalogue.streams.find(stream_id)
        if found is None or found[0].internal or found[0].database != self.database:
            return None
        return found

    def ever_owned(self) -> Callable[[int], bool]:
        """Return what tells whether a stream has an owner now, or may have had one that was deleted since."""
        by_name = self._catalogue.by_name
        internal = [by_name[name] for name in INTERNAL_TOPICS if name in by_name]
        others = {
            stream_id
            for topic in internal
            for first_stream, count in topic.stream_runs()
            for stream_id in range(first_stream, first_stream + count)
        }
        one = self._one
        return lambda stream_id: (
            not stream_id & COPIES_BIT and stream_id not in others and one in (None, stream_id)
        )
