"""The offset map: for each source offset that was copied, the target offset at which its record is.

It is a topic on the target's broker, MAP_TOPIC, whose records are written in the transaction that writes the
records they describe: neither can exist without the other. A record of it describes one batch of one
partition by runs, pieces in which both offsets go up one by one:

    source  100 101 102     105 106      (103 and 104: a transaction's marker, or compacted away)
    target   90  91  92      93  94      runs (100, 90, 3) and (105, 93, 2)

A run also names the origin of its records: the broker and the topic for which they were produced. By that a
job that copies the other way leaves out what would come home to its own topic, over any number of brokers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

MAP_TOPIC = "kawal-offset-map"

RUNS_IN_RECORD = 10_000
"""The most runs in one record: some 300 kB, under the 1 MB that every broker takes."""


class Origin(NamedTuple):
    """The broker (by its cluster id) and the topic for which records were produced."""

    cluster: str
    topic: str


class Run(NamedTuple):
    """A piece in which source and target offsets go up one by one; `origin` is an index into `origins`."""

    source: int
    target: int
    length: int
    origin: int = 0


class MapRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from"}):
    """One record of the map: the runs of the source's offsets from `begin` up to, not including, `until`."""

    job: str
    topic: str
    partition: int
    target_topic: str
    target_id: str
    begin: int
    until: int
    origins: list[Origin]
    runs: list[Run]


def runs_of(source: Sequence[int], target: Sequence[int], origins: Sequence[int]) -> list[Run]:
    """Return the runs of offsets given one by one, in order."""
    runs: list[Run] = []
    begin = 0
    for at in range(1, len(source) + 1):
        together = (
            at < len(source)
            and source[at] == source[at - 1] + 1
            and target[at] == target[at - 1] + 1
            and origins[at] == origins[at - 1]
        )
        if not together:
            runs.append(Run(source[begin], target[begin], at - begin, origins[begin]))
            begin = at
    return runs


def encoded(record: MapRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of the records of the topic; one with very many runs becomes several."""
    for first in range(0, max(1, len(record.runs)), RUNS_IN_RECORD):
        part = msgspec.structs.replace(record, runs=record.runs[first : first + RUNS_IN_RECORD])
        # Each key occurs once, so that compaction removes nothing.
        key = [record.job, record.topic, record.partition, record.begin, first]
        yield msgspec.json.encode(key), msgspec.json.encode(part)


def decoded(value: bytes) -> MapRecord:
    """Return a record of the topic."""
    return msgspec.json.decode(value, type=MapRecord)


class Piece(NamedTuple):
    """Offsets of one partition from `begin` up to, not including, `until`, and where they come from."""

    begin: int
    until: int
    origin: Origin


class PartitionMap:
    """The runs of one source partition in the order of its offsets."""

    def __init__(self, records: Iterable[MapRecord]) -> None:
        kept = sorted(records, key=lambda record: record.begin)
        self.runs = sorted(run for record in kept for run in record.runs)
        self.begin = kept[0].begin if kept else 0
        self.until = max((record.until for record in kept), default=0)
        self._starts = [run.source for run in self.runs]

    def target_of(self, offset: int) -> int | None:
        """Return the target offset that a reader who has read up to `offset` of the source continues at.

        None while nothing is known of it: the copy begins later, or has not come so far.
        """
        if not self.begin <= offset <= self.until or not self.runs:
            return None
        at = bisect_right(self._starts, offset) - 1
        if at >= 0 and offset < self.runs[at].source + self.runs[at].length:
            return self.runs[at].target + offset - self.runs[at].source
        if at + 1 < len(self.runs):
            return self.runs[at + 1].target
        return self.runs[at].target + self.runs[at].length


def maps_of(records: Iterable[MapRecord]) -> dict[tuple[str, int], PartitionMap]:
    """Return the map of each source partition."""
    found: dict[tuple[str, int], list[MapRecord]] = {}
    for record in records:
        found.setdefault((record.topic, record.partition), []).append(record)
    return {place: PartitionMap(held) for place, held in found.items()}


def foreign_pieces(records: Iterable[MapRecord], topic: str) -> dict[int, list[Piece]]:
    """Return per partition what other jobs have copied into `topic`, by the offsets there, in order."""
    pieces: dict[int, list[Piece]] = {}
    for record in records:
        if record.target_topic == topic:
            pieces.setdefault(record.partition, []).extend(
                Piece(run.target, run.target + run.length, record.origins[run.origin]) for run in record.runs
            )
    return {partition: sorted(found) for partition, found in pieces.items()}
