"""Records over time, from ListOffsets alone: the differences of the offsets at 60 moments; no record is read.

In compacted topics and views these are offsets, and not all of them have a record.  Requests for all moments
are under way at once on one connection to each leader.

Each moment costs the broker a look into a batch, which may have thousands of records: 60 of them have made
others wait.  So the bars of a range are kept for a minute: the next search of the same range asks for none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from console.errors import CommandError
from console.fetcher import connect
from console.partition_offsets import Place as LedPlace
from console.web.kept_bars import KeptBars, TimeBar
from console.web.ranges import Range
from console.web.record_rows import Place
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

MOMENTS: Final = 60
VERSION: Final = 7
"""The first version that knows the record with the largest timestamp."""
NEWEST_TIME: Final = -3
ZOOMS_MAX: Final = 4
"""A range that is a small part of its topic's time is looked at closer, a few times."""


class FirstOffset(NamedTuple):
    """The first record at or after a moment; -1: there is none."""

    offset: int
    timestamp_ms: int


def histogram_of(span: Range, kept: KeptBars) -> list[TimeBar]:
    """Return the bars of a range, none where its records have no two times.  Raises: CommandError."""
    places = [place for place in span.starts if span.starts[place] < span.ends[place]]
    if not places:
        return []
    key = tuple((span.leaders[place], place, span.starts[place], span.ends[place]) for place in places)
    bars = kept.get(key)
    if bars is None:
        bars = _looked_up(span, places)
        kept.put(key, bars)
    return bars


def _looked_up(span: Range, places: Sequence[Place]) -> list[TimeBar]:
    first, last = (first_offsets(span.leaders, places, [moment])[0] for moment in (0, NEWEST_TIME))
    known = [answer.timestamp_ms for answer in first.values() if answer.timestamp_ms >= 0]
    begin = min(known, default=-1)
    end = max((answer.timestamp_ms for answer in last.values()), default=-1)
    if begin < 0 or end < begin:
        return []
    end += 1
    for _ in range(ZOOMS_MAX):
        bars = _bars(span, places, begin, end)
        full = [bar for bar in bars if bar.offsets]
        if not full or 2 * (full[-1].end_ms - full[0].begin_ms) > end - begin:
            break
        begin, end = full[0].begin_ms, full[-1].end_ms
    return bars


def _bars(span: Range, places: Sequence[Place], begin: int, end: int) -> list[TimeBar]:
    moments = _moments(begin, end)
    offsets = [_within(span, found) for found in first_offsets(span.leaders, places, moments)]
    return [
        TimeBar(moments[at], moments[at + 1], sum(_differences(offsets[at], offsets[at + 1])))
        for at in range(len(moments) - 1)
    ]


def _moments(begin: int, end: int) -> list[int]:
    """Return the borders of the bars."""
    count = max(1, min(MOMENTS, end - begin))
    return sorted({begin + (end - begin) * at // count for at in range(count + 1)})


def _differences(before: Mapping[Place, int], after: Mapping[Place, int]) -> Iterable[int]:
    # Times need not rise with offsets: what comes before its time is not counted twice.
    return (max(0, after[place] - before[place]) for place in before)


def _within(span: Range, found: Mapping[Place, FirstOffset]) -> dict[Place, int]:
    """Return offsets within the range; where there is no later record, its end."""
    return {
        place: span.ends[place]
        if answer.offset < 0
        else min(max(answer.offset, span.starts[place]), span.ends[place])
        for place, answer in found.items()
    }


def first_offsets(
    leaders: Mapping[LedPlace, str], places: Sequence[Place], moments: Sequence[int]
) -> list[dict[Place, FirstOffset]]:
    """Return the first offset of places of one topic at or after each moment.  Raises: CommandError."""
    by_leader: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_leader[leaders[place.topic, place.partition]].append(place)
    found: list[dict[Place, FirstOffset]] = [{} for _ in moments]
    for address, mine in by_leader.items():
        link = connect(address)
        try:
            for moment in moments:
                link.send(_request(mine, moment), VERSION)
            for answers in found:
                for topic in link.receive().topics:
                    for each in topic.partitions:
                        if each.error_code:
                            raise CommandError(f"the broker at {address} tells no offsets by time now")
                        answers[Place(topic.name, each.partition_index)] = FirstOffset(
                            each.offset, each.timestamp
                        )
        finally:
            link.close()
    return found


def _request(places: Sequence[Place], moment: int) -> ListOffsetsRequest:
    partitions = [ListOffsetsPartition(partition_index=place.partition, timestamp=moment) for place in places]
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=places[0].topic, partitions=partitions)]
    )
