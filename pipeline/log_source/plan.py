"""The plan of a read, made on the driver: for each segment one task, with the bytes that it is to read.

Partitions, offsets and times that are not asked for are left out by the indexes alone; no segment is opened.
Offsets are given as to Spark's Kafka source, and mean the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from pipeline.errors import SourceError
from pipeline.log_source.catalogue import Home
from pipeline.log_source.logs import Logs, told
from wal.remote.copy_disk import Part

LATEST, EARLIEST = -1, -2
OFFSET_MAX = 2**63 - 1

Positions = dict[str, dict[int, int]]
"""Offsets by topic and partition."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The conditions that a query has on three columns."""

    partitions: frozenset[int] | None = None
    offset_min: int = 0
    offset_end: int = OFFSET_MAX
    time_min_ms: int | None = None
    """Batches that are older throughout are left out; of others all records come."""


Aborted = dict[int, list[tuple[int, int]]]
"""First and last offset of aborted transactions in order, by producer id; those of one do not overlap."""


class Piece(NamedTuple):
    """Batches of one partition that lie together."""

    topic: str
    partition: int
    position: int
    size_bytes: int
    base: int
    """The offset with which they begin."""
    next_offset: int
    """The offset after them."""
    since: int
    until: int
    """Records below `since`, and from `until` on, do not count."""


@dataclass(slots=True)
class Split(InputPartition):  # type: ignore[misc]  # Spark's classes are not typed here
    """A task: the bytes of one segment."""

    path: str
    parts: tuple[Part, ...] = ()
    """The objects that make the segment up; none when it is a file."""
    pieces: list[Piece] = field(default_factory=list)
    aborted: dict[tuple[str, int], Aborted] = field(default_factory=dict)
    """What was aborted among its offsets, by topic and partition."""


class Snapshot:
    """The plan of reads of some topics, at the moment when their logs were looked at."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self.homes = logs.homes

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition, and the end of what can be read."""
        return self._logs.bounds(topic, partition)

    def resolve(self, text: str | None, default: int, option: str) -> Positions:
        """Return the offsets that an option names: `earliest`, `latest`, or JSON.  Raises: SourceError."""
        named = _parse(text, default, option, self.homes)
        found: Positions = {}
        for topic, homes in self.homes.items():
            offsets = found[topic] = {}
            for home in homes:
                earliest, latest = self.bounds(topic, home.partition)
                offset = named[topic][home.partition]
                offset = {EARLIEST: earliest, LATEST: latest}.get(offset, offset)
                if not earliest <= offset <= latest:
                    raise SourceError(
                        f"{option}: offset {offset} of {topic}-{home.partition} is not there: the files have "
                        f"{earliest} to {latest}"
                    )
                offsets[home.partition] = offset
        return found

    def splits(self, begins: Positions, ends: Positions, wanted: Wanted) -> list[Split]:
        """Return the tasks for the records between two positions.  Raises: SourceError."""
        found: dict[str, Split] = {}
        for topic, homes in self.homes.items():
            for home in homes:
                if wanted.partitions is None or home.partition in wanted.partitions:
                    begin = max(begins[topic].get(home.partition, 0), wanted.offset_min)
                    end = min(ends[topic].get(home.partition, 0), wanted.offset_end)
                    self._add(found, topic, home, begin, end, wanted.time_min_ms)
        for split in found.values():
            split.pieces.sort(key=lambda piece: piece.position)
        return [found[path] for path in sorted(found)]

    def _add(
        self, found: dict[str, Split], topic: str, home: Home, begin: int, end: int, time_min_ms: int | None
    ) -> None:
        log, reach = self._logs.of(home), dict[str, tuple[int, int]]()
        with told(f"{topic}-{home.partition}"):
            for place in log.places(home.stream_id, begin, end):
                if time_min_ms is not None and place.max_timestamp < time_min_ms:
                    continue
                path, parts = self._logs.files.source_of(home, place)
                split = found.setdefault(path, Split(path, parts))
                split.pieces.append(
                    Piece(
                        topic, home.partition, place.position, place.size_bytes, place.base,
                        place.next_offset, place.since, place.until,
                    )
                )  # fmt: skip
                first, last = reach.get(path, (place.base, place.next_offset))
                reach[path] = min(first, place.base), max(last, place.next_offset)
            for path, (first, last) in reach.items():
                aborted = found[path].aborted[topic, home.partition] = {}
                for entry in log.aborted(home.stream_id, first, last):
                    aborted.setdefault(entry.producer_id, []).append((entry.first_offset, entry.last_offset))


def _parse(
    text: str | None, default: int, option: str, homes: Mapping[str, list[Home]]
) -> dict[str, dict[int, int]]:
    """Return an offset or its stand-in for each partition.  Raises: SourceError."""
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text is None or text.strip().lower() in words:
        chosen = default if text is None else words[text.strip().lower()]
        return {topic: {home.partition: chosen for home in found} for topic, found in homes.items()}
    example = '\'earliest\', \'latest\' or JSON such as {"topic":{"0":23,"1":-2}}'
    try:
        given = {
            str(topic): {int(partition): int(offset) for partition, offset in offsets.items()}
            for topic, offsets in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise SourceError(f"{option} is {text!r}; it must be {example}") from error
    for topic, found in homes.items():
        missing = {home.partition for home in found} ^ given.get(topic, {}).keys()
        if missing or given.keys() - homes.keys():
            raise SourceError(
                f"{option} must have every partition of the topics that are read, and no others; it differs "
                f"in {topic!r} {sorted(missing)} {sorted(given.keys() - homes.keys())}"
            )
    return given
