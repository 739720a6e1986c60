"""The lag of groups over time, kept by this process for those whose pages are looked at.

Nothing is sampled by itself: each look at a group's page is a sample, and while the page is open its stream
takes one every few seconds.  A time without looks is a gap.  All of it is bounded: the group that
was looked at longest ago is forgotten first, and a group's oldest sample when a new one comes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

GROUPS_MAX: Final = 100
"""Groups whose lag is kept, for all who use the console: 20 MB at most."""
SAMPLES_MAX: Final = 1_200
"""Samples of a group: an hour at the pace of a stream."""
APART_MS: Final = 1_000
"""Looks that are closer together are one sample, so that reloading a page does not shorten the time."""
GAP_MS: Final = 15_000
"""Samples that are further apart have a gap between them: several of a stream have not come."""
POINTS_MAX: Final = 240
"""Points of a drawing: one for each unit of its width."""


class Sample(NamedTuple):
    """The lag of a group at a time; seconds are None where the broker does not tell."""

    time_ms: int
    records: int
    seconds: float | None


class Drawing(NamedTuple):
    """The values of two lines at times that are equally far apart; None: there was no look."""

    records: Sequence[int | None]
    seconds: Sequence[float | None]
    since_ms: int
    top_records: int
    top_seconds: float | None


class LagHistory:
    """The samples of many groups, each as one user sees them."""

    def __init__(self) -> None:
        self._groups: OrderedDict[tuple[str, str], deque[Sample]] = OrderedDict()

    def add(self, user: str, group: str, sample: Sample) -> None:
        """Add a sample; one that is too close to the last takes its place."""
        samples = self._groups.setdefault((user, group), deque(maxlen=SAMPLES_MAX))
        self._groups.move_to_end((user, group))
        while len(self._groups) > GROUPS_MAX:
            self._groups.popitem(last=False)
        if samples and sample.time_ms < samples[-1].time_ms:
            samples.clear()  # the clock was set back
        if len(samples) > 1 and sample.time_ms - samples[-2].time_ms < APART_MS:
            samples.pop()
        samples.append(sample)

    def of(self, user: str, group: str) -> list[Sample]:
        """Return the samples of a group, the oldest first."""
        return list(self._groups.get((user, group), ()))


def drawing_of(samples: Sequence[Sample]) -> Drawing:
    """Return samples as lines: the largest value of each of at most POINTS_MAX times."""
    if not samples:
        return Drawing((), (), -1, 0, None)
    first, last = samples[0].time_ms, samples[-1].time_ms
    count = min(POINTS_MAX, max(2, (last - first) // APART_MS + 1))
    records: list[int | None] = [None] * count
    seconds: list[float | None] = [None] * count
    before, before_at = samples[0], 0
    for sample in samples:
        at = (sample.time_ms - first) * (count - 1) // max(1, last - first)
        if sample.time_ms - before.time_ms <= GAP_MS:
            for between in range(before_at + 1, at):  # a stream's samples are further apart than points
                records[between], seconds[between] = before.records, before.seconds
        records[at] = max(records[at] or 0, sample.records)
        if sample.seconds is not None:
            seconds[at] = max(seconds[at] or 0.0, sample.seconds)
        before, before_at = sample, at
    known = [sample.seconds for sample in samples if sample.seconds is not None]
    return Drawing(
        records, seconds, first, max(sample.records for sample in samples), max(known) if known else None
    )
