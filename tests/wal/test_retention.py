"""Retention by logical segments, claim by claim, and against a model of Kafka's own code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.retention import LogicalSegments, Oldest, RetentionPolicy, RollPolicy, Run, Walk

FOREVER = 10**15
KEEP = RetentionPolicy(retention_bytes=-1, retention_ms=-1)
ROLL = RollPolicy(segment_bytes=1000, segment_ms=FOREVER)


def batches(*sizes: int, timestamp: int = 0) -> list[Run]:
    return [Run(10 * number, 10 * number + 10, size, timestamp, 0) for number, size in enumerate(sizes)]


def cut(runs: list[Run], policy: RollPolicy = ROLL) -> LogicalSegments:
    segments = LogicalSegments()
    for run in runs:
        segments.add(run, policy)
    return segments


def bases(segments: LogicalSegments) -> list[int]:
    return [segment.base_offset for segment in segments.segments]


def walk(
    runs: list[Run],
    oldest: Oldest | None = None,
    *,
    retention_bytes: int = -1,
    retention_ms: int = -1,
    log_start: int = 0,
    log_end: int | None = None,
    now_ms: int = 0,
    limit: int = FOREVER,
    invisible_bytes: int = 0,
    opened: Callable[[Run], list[Run]] = lambda run: [run],
) -> Walk:
    """Walk over the visible runs of a stream, as retention does."""
    oldest = oldest if oldest is not None else Oldest(ROLL)
    segment = oldest.segment
    begin = segment.base_offset if segment is not None else log_start
    size_bytes = sum(run.size_bytes for run in runs if run.next_offset > begin) - oldest.hidden_bytes
    made = Walk(
        oldest,
        RetentionPolicy(retention_bytes, retention_ms),
        log_start=log_start,
        size_bytes=size_bytes + invisible_bytes,
        now_ms=now_ms,
        limit=lambda: limit,
        batches_of=lambda run: [batch for batch in opened(run) if batch.next_offset > run.base_offset],
    )
    if not made.is_over:
        offset = made.log_start if oldest.next_offset is None else oldest.next_offset
        made.take(Run(max(offset, run.base_offset), *run[1:]) for run in runs if run.next_offset > offset)
        end = runs[-1].next_offset if runs else log_start
        made.end(log_end=end if log_end is None else log_end, high_watermark=end)
    return made


def delete(runs: list[Run], **limits: Any) -> int:
    """Return the log start after a walk."""
    return walk(runs, **limits).log_start


def test_a_segment_is_filled_to_the_last_byte() -> None:
    assert bases(cut(batches(400, 600, 1))) == [0, 20]
    assert bases(cut(batches(400, 601))) == [0, 10]


def test_a_batch_larger_than_a_segment_is_one_of_its_own() -> None:
    assert bases(cut(batches(5000, 10, 5000))) == [0, 10, 20]


def test_a_segment_ends_when_a_batch_is_too_long_after_its_first_one() -> None:
    policy = RollPolicy(segment_bytes=10**9, segment_ms=100)
    runs = [Run(at, at + 1, 10, timestamp) for at, timestamp in enumerate([1000, 1100, 900, 1101, 1200])]
    assert bases(cut(runs, policy)) == [0, 3]


def test_without_a_first_timestamp_the_times_of_append_count() -> None:
    policy = RollPolicy(segment_bytes=10**9, segment_ms=100)
    runs = [Run(at, at + 1, 10, -1, appended) for at, appended in enumerate([5, 105, 106])]
    assert bases(cut(runs, policy)) == [0, 2]


def test_a_batch_without_a_timestamp_never_ends_a_segment_that_has_one() -> None:
    policy = RollPolicy(segment_bytes=10**9, segment_ms=100)
    assert bases(cut([Run(0, 1, 10, 1000, 0), Run(1, 2, 10, -1, 10**9)], policy)) == [0]


def test_a_segment_spans_no_more_offsets_than_an_int32_can_tell() -> None:
    last = 2**31 - 1
    assert bases(cut([Run(0, 1, 1, 0), Run(1, last + 1, 1, 0)])) == [0]
    assert bases(cut([Run(0, 1, 1, 0), Run(1, last + 2, 1, 0)])) == [0, 1]


def test_without_limits_nothing_goes() -> None:
    assert delete(batches(*[600] * 5), now_ms=FOREVER) == 0


def test_by_size_whole_segments_go_while_enough_is_left() -> None:
    runs = batches(*[600] * 5)
    assert delete(runs, retention_bytes=1300) == 20
    assert delete(runs, retention_bytes=1200, log_start=20) == 30
    assert delete(runs, retention_bytes=1200, log_start=30) == 30


def test_by_size_zero_everything_goes() -> None:
    assert delete(batches(600, 600), retention_bytes=0) == 20


@pytest.mark.parametrize(("now_ms", "log_start"), [(1100, 0), (1101, 10), (2100, 10), (2101, 20), (3101, 30)])
def test_by_age_a_segment_goes_when_its_newest_record_is_too_old(now_ms: int, log_start: int) -> None:
    runs = [Run(10 * at, 10 * at + 10, 600, 1000 * at + 1000, 0) for at in range(3)]
    walked = walk(runs, retention_ms=100, now_ms=now_ms)
    assert walked.log_start == log_start
    assert walked.due_ms() == (1101 + 100 * log_start if log_start < 30 else None)


def test_by_age_a_young_segment_keeps_the_older_ones_behind_it() -> None:
    runs = [Run(0, 10, 600, 9000), Run(10, 20, 600, 1000), Run(20, 30, 600, 1000)]
    assert delete(runs, retention_ms=100, now_ms=5000) == 0


def test_a_timestamp_in_the_future_keeps_its_segment() -> None:
    assert delete([Run(0, 10, 600, FOREVER)], retention_ms=0, now_ms=5000) == 0


def test_without_timestamps_the_time_of_append_is_the_age() -> None:
    runs = [Run(0, 10, 600, -1, 1000), Run(10, 20, 600, -2, 2000)]
    assert delete(runs, retention_ms=100, now_ms=1101) == 10


def test_without_any_time_nothing_is_too_old() -> None:
    walked = walk([Run(0, 10, 600, -1)], retention_ms=100, now_ms=FOREVER)
    assert (walked.log_start, walked.due_ms()) == (0, None)


def test_the_newest_segment_stays_while_a_record_behind_it_is_on_its_way() -> None:
    runs = batches(600, 600)
    assert delete(runs, retention_ms=0, now_ms=FOREVER, log_end=25) == 10
    assert delete(runs, retention_ms=0, now_ms=FOREVER, log_end=20) == 20


def test_a_segment_that_the_log_start_cut_counts_whole() -> None:
    runs, oldest = batches(*[600] * 3), Oldest(ROLL)
    assert walk(runs, oldest, retention_bytes=1800).log_start == 0
    assert oldest.holds(5)
    assert walk(runs, oldest, retention_bytes=1200, log_start=5).log_start == 10


def test_a_stream_without_records_keeps_its_log_start() -> None:
    assert delete([], retention_ms=0, log_start=7, now_ms=FOREVER) == 7


@pytest.mark.parametrize(("limit", "log_start"), [(0, 0), (7, 7), (10, 10), (13, 13), (99, 30)])
def test_nothing_at_or_above_the_limit_goes(limit: int, log_start: int) -> None:
    runs = batches(*[600] * 3)
    walked = walk(runs, retention_ms=1, now_ms=FOREVER, limit=limit)
    assert (walked.log_start, walked.is_held) == (log_start, limit < 30)


def test_a_walk_goes_on_where_the_last_one_stopped() -> None:
    """Every extent is looked at once, until it goes."""
    runs = [Run(at, at + 1, 10, 100 * at) for at in range(100)]
    oldest, looked, log_start = Oldest(RollPolicy(10**6, 10**6)), 0, 0
    for now_ms in range(0, 10_000, 100):
        walked = Walk(
            oldest,
            RetentionPolicy(-1, 50),
            log_start=log_start,
            size_bytes=0,
            now_ms=now_ms,
            limit=lambda: FOREVER,
            batches_of=lambda run: [run],
        )
        if not walked.is_over:
            looked += walked.take(runs[oldest.next_offset or 0 :])
        assert walked.log_start == 0
    assert looked == 100
    assert walked.is_over


class KafkaSegment:
    """LogSegment, with the parts that rolling and retention use."""

    def __init__(self, base_offset: int, created: int) -> None:
        self.base_offset = base_offset
        self.created = created
        self.size = 0
        self.rolling_based_timestamp: int | None = None
        self.max_timestamp_so_far = -1
        self.last_modified = created

    def should_roll(self, policy: RollPolicy, batch: Run, now: int) -> bool:
        first = self.rolling_based_timestamp
        waited = batch.max_timestamp - first if first is not None and first >= 0 else now - self.created
        return (
            self.size > policy.segment_bytes - batch.size_bytes
            or (self.size > 0 and waited > policy.segment_ms)
            or batch.next_offset - 1 - self.base_offset > 2**31 - 1
        )

    def append(self, batch: Run, now: int) -> None:
        if self.size == 0:
            self.created = now  # ours begins with its first batch, so the model's does too
            self.rolling_based_timestamp = batch.max_timestamp
        self.max_timestamp_so_far = max(self.max_timestamp_so_far, batch.max_timestamp)
        self.size += batch.size_bytes
        self.last_modified = now

    def largest_timestamp(self) -> int:
        return self.max_timestamp_so_far if self.max_timestamp_so_far >= 0 else self.last_modified


class KafkaLog:
    """UnifiedLog: always an active segment, and three passes of deletion that each move the log start."""

    def __init__(self) -> None:
        self.segments = [KafkaSegment(0, 0)]
        self.log_start = 0
        self.log_end = 0

    def append(self, batch: Run, policy: RollPolicy, now: int) -> None:
        if self.segments[-1].should_roll(policy, batch, now):
            self.roll(now)
        self.segments[-1].append(batch, now)
        self.log_end = batch.next_offset

    def roll(self, now: int) -> None:
        if self.segments[-1].size == 0:
            self.segments.pop()
        self.segments.append(KafkaSegment(self.log_end, now))

    def delete_old_segments(self, policy: RetentionPolicy, high_watermark: int, now: int) -> None:
        self.delete_where(
            high_watermark,
            now,
            [
                index + 1 < len(self.segments) and self.segments[index + 1].base_offset <= self.log_start
                for index in range(len(self.segments))
            ],
        )
        size = sum(segment.size for segment in self.segments)
        if policy.retention_bytes >= 0 and size >= policy.retention_bytes:
            difference, gone = size - policy.retention_bytes, []
            for segment in self.segments:
                gone.append(difference - segment.size >= 0)
                difference -= segment.size if gone[-1] else 0
            self.delete_where(high_watermark, now, gone)
        if policy.retention_ms >= 0:
            ages = [now - segment.largest_timestamp() for segment in self.segments]
            self.delete_where(high_watermark, now, [age > policy.retention_ms for age in ages])

    def delete_where(self, high_watermark: int, now: int, gone: list[bool]) -> None:
        count = 0
        for index, segment in enumerate(self.segments):
            is_last = index + 1 == len(self.segments)
            upper_bound = self.log_end if is_last else self.segments[index + 1].base_offset
            if not (high_watermark >= upper_bound and gone[index]) or (is_last and segment.size == 0):
                break
            count += 1
        if count == len(self.segments):
            self.roll(now)
        if count:
            del self.segments[:count]
            self.log_start = max(self.log_start, self.segments[0].base_offset)


STEP = st.one_of(
    st.tuples(
        st.just("append"), st.lists(st.tuples(st.integers(1, 5), st.integers(-2, 60)), min_size=1, max_size=4)
    ),
    st.tuples(st.just("clock"), st.integers(0, 40)),
    st.tuples(st.just("retention"), st.tuples(st.integers(-1, 20), st.integers(-1, 40), st.integers(0, 3))),
)


@given(st.lists(STEP, max_size=40), st.integers(1, 12), st.integers(0, 40))
def test_log_starts_are_kafkas(steps: list[tuple[str, object]], size_max: int, age_max: int) -> None:
    """Appends of several batches at once, fed whole where allowed; clock, limits and visible part vary."""
    roll = RollPolicy(size_max, age_max)
    kafka, oldest, log_start = KafkaLog(), Oldest(roll), 0
    extents: list[list[Run]] = []
    now = shown = 0
    for kind, value in steps:
        match kind, value:
            case "append", list(values):
                extents.append(list(as_batches(values, kafka.log_end, now)))
                for run in extents[-1]:
                    kafka.append(run, roll, now)
            case "clock", int(step):
                now += step
            case "retention", (int(size), int(age), int(hidden)):
                # What could be read once stays so.
                shown = max(shown, len(extents) - hidden)
                visible = extents[:shown]
                if not visible:
                    continue
                end = visible[-1][-1].next_offset
                # Ours is a record late: a segment is whole when the first record after it can be read.
                seen = end if end == kafka.log_end else end - 1
                kafka.delete_old_segments(RetentionPolicy(size, age), max(log_start, seen), now)
                ends = {runs[-1].next_offset: runs for runs in visible}
                if not oldest.holds(log_start):
                    oldest = Oldest(roll)
                log_start = walk(
                    [joined(runs) for runs in visible],
                    oldest,
                    retention_bytes=size,
                    retention_ms=age,
                    log_start=log_start,
                    log_end=kafka.log_end,
                    now_ms=now,
                    invisible_bytes=sum(run.size_bytes for runs in extents[len(visible) :] for run in runs),
                    opened=lambda run, ends=ends: ends[run.next_offset],  # type: ignore[misc]
                ).log_start
        assert log_start == kafka.log_start


def as_batches(values: list[tuple[int, int]], offset: int, now: int) -> Iterator[Run]:
    for size, timestamp in values:
        yield Run(offset, offset + size, size, timestamp, now)
        offset += size


def joined(runs: list[Run]) -> Run:
    return Run(
        runs[0].base_offset,
        runs[-1].next_offset,
        sum(run.size_bytes for run in runs),
        max(run.max_timestamp for run in runs),
        runs[-1].appended_ms,
    )
