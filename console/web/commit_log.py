"""The commits of one group over time, read from `__consumer_offsets` as any client may.

The topic is compacted: the newest commit of a partition is always there, and older ones as long as the part
of the log that has them is open or was not cleaned yet.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from console.fetcher import Fetcher
from console.partition_offsets import LATEST, Place, leaders_of, offsets_at
from console.web.record_rows import Place as NamedPlace
from console.web.search_bounds import Bounds
from groups.offset_values import read_committed
from groups.record_keys import OffsetKey, partition_for
from groups.records import decode_record
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records
from protocol.records import read_batch_header

TOPIC: Final = "__consumer_offsets"
POLL_MS: Final = 500
OFFSET_KEYS: Final = (0, 1)
"""The types of keys that are commits."""


class Commit(NamedTuple):
    """A commit; the offset is None where it was deleted."""

    time_ms: int
    offset: int | None


class Commits(NamedTuple):
    """The commits of a group, by partition, the oldest first."""

    places: dict[Place, list[Commit]]
    whole: bool
    """Whether the log was read to its end; else there was no time for the newest ones."""


def commits_of(bootstrap: str, group: str, since_ms: int, bounds: Bounds) -> Commits:
    """Return the commits of a group since a time.  Raises: CommandError."""
    leaders = leaders_of(bootstrap, [TOPIC])
    place = TOPIC, partition_for(group, len(leaders))
    start = offsets_at(leaders, [place], since_ms)[place]
    end = offsets_at(leaders, [place], LATEST)[place]
    found: defaultdict[Place, list[Commit]] = defaultdict(list)
    if not 0 <= start < end:
        return Commits({}, True)
    log = NamedPlace(*place)
    fetcher = Fetcher(bootstrap, {log: start}, ends={log: end}, read_committed=True)
    try:
        while fetcher.position(log) < end and not bounds.spent():
            for batches, _ in fetcher.poll_batches(POLL_MS).values():
                for batch in batches:
                    bounds.take(read_batch_header(batch).record_count)
                    for key, commit in commits_in(batch, group):
                        found[key.topic, key.partition].append(commit)
        return Commits(dict(found), fetcher.position(log) >= end)
    finally:
        fetcher.close()


def commits_in(batch: memoryview, group: str) -> Iterator[tuple[OffsetKey, Commit]]:
    """Yield the commits of a group in a batch."""
    name = group.encode("utf-8", "surrogatepass")
    heads = tuple(struct.pack(">hh", kind, len(name)) + name for kind in OFFSET_KEYS)
    for record in iter_records(batch):
        if record.key is not None and bytes(record.key[: len(heads[0])]) in heads:
            yield from _decoded(record)


def _decoded(record: Record) -> Iterator[tuple[OffsetKey, Commit]]:
    value = None if record.value is None else bytes(record.value)
    try:
        found = decode_record(record.key or b"", None)
        committed = None if value is None else read_committed(value)
    except (struct.error, ProtocolError):
        return  # of a later version of Kafka: it is no commit that could be told
    if found is None or not isinstance(found[0], OffsetKey):
        return
    if committed is None:
        yield found[0], Commit(record.timestamp_ms, None)
    else:
        yield found[0], Commit(committed.commit_ms, committed.offset)
