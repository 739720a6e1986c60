"""The partitions that keep the segments of a log: clients can still reach records of theirs in them.

A file goes when no partition needs it.  Which streams a segment has, and up to which offset, is in the heads
of its frames; whose they are, in the catalogue beside the log; where partitions begin, the broker tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from console.admin import ask
from console.errors import CommandError
from console.fetcher import leaders_in
from console.partition_offsets import EARLIEST, METADATA_VERSION, Place, offsets_at
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from wal.backup_catalogue import catalogue_records
from wal.disk import Disk
from wal.format import COPIES_BIT, EntryKind
from wal.inspect import FrameView
from wal.store import META

PARTITIONS_MAX: Final = 5_000
"""Partitions whose beginnings are asked for; a log may have 50,000."""

Lasts = dict[int, int]
"""The last offset of each stream in a segment."""


class Keepers(NamedTuple):
    """The partitions that keep a segment."""

    first: str
    """One of them, by topic and number; "" if there is none."""
    partitions: int
    unknown: int = 0
    """Streams of which it is not known: copies by compaction, those of topics that this user may not see."""


def noting(views: Iterable[FrameView], lasts: Lasts) -> Iterator[FrameView]:
    """Yield the frames, and note the last offset of each stream."""
    for frame in views:
        for entry in frame.entries:
            if entry.kind != EntryKind.META:
                last = entry.base_offset + entry.record_count - 1
                lasts[entry.stream_id] = max(lasts.get(entry.stream_id, last), last)
        yield frame


def owners_in(disk: Disk, root: str) -> dict[int, Place]:
    """Return the partition of each stream of a data directory.  Raises: DiskError."""
    # The catalogue brings a hundred modules of the broker, which no other page needs.
    from broker.catalogue.catalogue_records import decode_record
    from broker.catalogue.catalogue_replay import replay_all

    catalogue = replay_all(map(decode_record, catalogue_records(disk, f"{root}/{META}")))
    return {
        stream: (topic.name, index)
        for topic in catalogue.by_id.values()
        for index, stream in enumerate(topic.stream_ids())
    }


def starts_of(bootstrap: str, places: Iterable[Place]) -> dict[Place, int]:
    """Return where partitions begin, as far as this user may know.  Raises: CommandError."""
    wanted = sorted(set(places))[:PARTITIONS_MAX]
    topics = [MetadataRequestTopic(name=name) for name in sorted({name for name, _ in wanted})]
    if not topics:
        return {}
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    answer = ask(bootstrap, request, METADATA_VERSION)
    answer.topics = [topic for topic in answer.topics if not topic.error_code]
    leaders = leaders_in(answer)
    try:
        return offsets_at(leaders, [place for place in wanted if place in leaders], EARLIEST)
    except CommandError:
        return {}  # one was deleted meanwhile; nothing is told rather than something wrong


def keepers_of(lasts: Lasts, owners: Mapping[int, Place], starts: Mapping[Place, int]) -> Keepers:
    """Return the partitions that begin at or before their last record in a segment."""
    owned = [(owners[stream], last) for stream, last in lasts.items() if stream in owners]
    found = (place for place, last in owned if place in starts and starts[place] <= last)
    # A topic of the broker's own is in every log, and says least.
    keeping = sorted(found, key=lambda place: (place[0].startswith("__"), place))
    first = next((f"{name} {index}" for name, index in islice(keeping, 1)), "")
    copies = sum(bool(stream & COPIES_BIT) for stream in lasts)
    return Keepers(first, len(keeping), copies + sum(place not in starts for place, _ in owned))
