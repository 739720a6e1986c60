"""The lag of a group in past hours, in which its page was not open: from its commits, and ends of its topics.

A group's commits have their times, and the end of a partition at a moment is the first offset that came after
it (ListOffsets by time): so the lag at 61 moments is known without a sampler.  Before the oldest commit that
was found, the lag is not known and there is a gap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from console.partition_offsets import Place, extents_of, leaders_of
from console.web.commit_log import Commit, commits_of
from console.web.group_facts import committed_of
from console.web.histogram import first_offsets
from console.web.lag_history import Drawing
from console.web.record_rows import Place as NamedPlace
from console.web.search_bounds import Bounds

MOMENTS: Final = 60
BEFORE_MS: Final = 3_600_000
"""Commits are read from so much earlier, as that of the first moment may be older than it."""
PLACES_MAX: Final = 16
"""Partitions that are looked at: each costs the broker a look into a batch for each moment."""


class PastSample(NamedTuple):
    """The lag at a moment; None: it is not known."""

    time_ms: int
    records: int | None
    seconds: float | None


class Past(NamedTuple):
    """The lag of a group over a time."""

    samples: list[PastSample]
    whole: bool
    """Whether all commits of the time were read."""
    left_out: int
    """Partitions that were not looked at."""


class _Track(NamedTuple):
    """A partition over the time: its commits, and its end at each moment."""

    commits: Sequence[Commit]
    ends: Sequence[int]


def past_lag(bootstrap: str, group: str, since_ms: int, until_ms: int, bounds: Bounds) -> Past:
    """Return the lag of a group at moments between two times.  Raises: CommandError."""
    now = committed_of(bootstrap, group)
    commits, whole = commits_of(bootstrap, group, since_ms - BEFORE_MS, bounds)
    known = {place: [Commit(since_ms, offset)] for place, offset in now.items()} | commits
    chosen = sorted(known)[:PLACES_MAX]
    moments = [since_ms + (until_ms - since_ms) * at // MOMENTS for at in range(MOMENTS + 1)]
    ends = _ends(bootstrap, chosen, moments)
    tracks = [_Track(known[place], ends[place]) for place in chosen]
    samples = [_sample(tracks, moments, at) for at in range(len(moments))] if tracks else []
    return Past(samples, whole, len(known) - len(chosen))


def _ends(bootstrap: str, places: Sequence[Place], moments: Sequence[int]) -> dict[Place, list[int]]:
    leaders = leaders_of(bootstrap, {topic for topic, _ in places})
    extents = extents_of(leaders, places)
    by_topic: defaultdict[str, list[NamedPlace]] = defaultdict(list)
    for place in places:
        by_topic[place[0]].append(NamedPlace(*place))
    found: dict[Place, list[int]] = {place: [] for place in places}
    for mine in by_topic.values():
        for answers in first_offsets(leaders, mine, moments):
            for place, answer in answers.items():
                end = extents[place].end if answer.offset < 0 else answer.offset
                found[place].append(max(end, extents[place].start))
    return found


def _sample(tracks: Sequence[_Track], moments: Sequence[int], at: int) -> PastSample:
    """Return the lag at a moment: that of all partitions, which must all be known."""
    records, seconds = 0, 0.0
    for track in tracks:
        offset = _offset_at(track.commits, moments[at])
        if offset is None:
            return PastSample(moments[at], None, None)
        if offset < track.ends[at]:
            records += track.ends[at] - offset
            seconds = max(seconds, (moments[at] - _written_at(track.ends, moments, offset)) / 1000)
    return PastSample(moments[at], records, round(seconds, 3))


def _offset_at(commits: Sequence[Commit], moment: int) -> int | None:
    index = bisect_right(commits, moment, key=lambda commit: commit.time_ms)
    return commits[index - 1].offset if index else None


def _written_at(ends: Sequence[int], moments: Sequence[int], offset: int) -> float:
    """Return about when a record was written: between the two moments between which the end has passed it."""
    after = next(index for index, end in enumerate(ends) if end > offset)
    if after == 0:
        return moments[0]  # or before it
    share = (offset - ends[after - 1]) / (ends[after] - ends[after - 1])
    return moments[after - 1] + max(0.0, share) * (moments[after] - moments[after - 1])


def drawing_of_past(samples: Sequence[PastSample]) -> Drawing:
    """Return the lines of a past."""
    records = [sample.records for sample in samples]
    seconds = [sample.seconds for sample in samples]
    return Drawing(
        records,
        seconds,
        samples[0].time_ms if samples else -1,
        max((value for value in records if value is not None), default=0),
        max((value for value in seconds if value is not None), default=None),
    )
