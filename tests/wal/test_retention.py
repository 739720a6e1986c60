"""Retention by logical segments, claim by claim, and against a model of Kafka's own code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.retention import LogicalSegments, RetentionPolicy, RollPolicy, Run

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


def delete(
    segments: LogicalSegments,
    *,
    retention_bytes: int = -1,
    retention_ms: int = -1,
    log_start: int = 0,
    high_watermark: int | None = None,
    now_ms: int = 0,
) -> int:
    end = segments.segments[-1].next_offset if segments.segments else log_start
    return segments.delete_old(
        RetentionPolicy(retention_bytes, retention_ms),
        log_start=log_start,
        log_end=end,
        high_watermark=end if high_watermark is None else high_watermark,
        now_ms=now_ms,
    )


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
    segments = cut(batches(*[600] * 5))
    assert delete(segments, now_ms=FOREVER) == 0
    assert len(segments.segments) == 5


def test_by_size_whole_segments_go_while_enough_is_left() -> None:
    segments = cut(batches(*[600] * 5))
    assert delete(segments, retention_bytes=1300) == 20
    assert bases(segments) == [20, 30, 40]
    assert delete(segments, retention_bytes=1200, log_start=20) == 30
    assert delete(segments, retention_bytes=1200, log_start=30) == 30


def test_by_size_zero_everything_goes() -> None:
    segments = cut(batches(600, 600))
    assert delete(segments, retention_bytes=0) == 20
    assert segments.segments == []


@pytest.mark.parametrize(("now_ms", "log_start"), [(1100, 0), (1101, 10), (2100, 10), (2101, 20), (3101, 30)])
def test_by_age_a_segment_goes_when_its_newest_record_is_too_old(now_ms: int, log_start: int) -> None:
    runs = [Run(10 * at, 10 * at + 10, 600, 1000 * at + 1000, 0) for at in range(3)]
    assert delete(cut(runs), retention_ms=100, now_ms=now_ms) == log_start


def test_by_age_a_young_segment_keeps_the_older_ones_behind_it() -> None:
    runs = [Run(0, 10, 600, 9000), Run(10, 20, 600, 1000), Run(20, 30, 600, 1000)]
    assert delete(cut(runs), retention_ms=100, now_ms=5000) == 0


def test_a_timestamp_in_the_future_keeps_its_segment() -> None:
    assert delete(cut([Run(0, 10, 600, FOREVER)]), retention_ms=0, now_ms=5000) == 0


def test_without_timestamps_the_time_of_append_is_the_age() -> None:
    runs = [Run(0, 10, 600, -1, 1000), Run(10, 20, 600, -2, 2000)]
    assert delete(cut(runs), retention_ms=100, now_ms=1101) == 10


def test_without_any_time_nothing_is_too_old() -> None:
    assert delete(cut([Run(0, 10, 600, -1)]), retention_ms=100, now_ms=FOREVER) == 0


def test_nothing_above_the_high_watermark_goes() -> None:
    segments = cut(batches(*[600] * 3))
    assert delete(segments, retention_ms=1, high_watermark=19, now_ms=FOREVER) == 10
    assert delete(segments, retention_ms=1, high_watermark=20, now_ms=FOREVER, log_start=10) == 20


def test_the_newest_segment_stays_while_a_record_behind_it_is_on_its_way() -> None:
    segments = cut(batches(600))
    policy = RetentionPolicy(-1, 0)
    kept = segments.delete_old(policy, log_start=0, log_end=15, high_watermark=10, now_ms=FOREVER)
    assert kept == 0


def test_segments_below_the_log_start_are_forgotten_and_do_not_move_it() -> None:
    segments = cut(batches(*[600] * 3))
    assert delete(segments, log_start=25) == 25
    assert bases(segments) == [20]


def test_a_segment_that_the_log_start_cut_counts_whole() -> None:
    segments = cut(batches(*[600] * 3))
    assert delete(segments, retention_bytes=1200, log_start=5) == 10


def test_a_stream_without_records_keeps_its_log_start() -> None:
    assert delete(LogicalSegments(), retention_ms=0, log_start=7, now_ms=FOREVER) == 7


def test_a_changed_policy_leaves_old_segments_as_they_are() -> None:
    segments = cut(batches(600, 600))
    segments.add(Run(20, 30, 600, 0), RollPolicy(10**6, FOREVER))
    segments.add(Run(30, 40, 600, 0), RollPolicy(10**6, FOREVER))
    assert bases(segments) == [0, 10]


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
    st.tuples(st.just("delete_records"), st.integers(0, 100)),
    st.tuples(st.just("retention"), st.tuples(st.integers(-1, 20), st.integers(-1, 40), st.integers(0, 100))),
    st.tuples(st.just("roll policy"), st.tuples(st.integers(1, 12), st.integers(0, 40))),
)


@given(st.lists(STEP, max_size=40))
def test_log_starts_and_segments_are_kafkas(steps: list[tuple[str, object]]) -> None:
    """Appends of several batches at once, fed whole where allowed; clock, limits and policies vary."""
    kafka, ours, log_start = KafkaLog(), LogicalSegments(), 0
    roll, now = RollPolicy(6, 30), 0
    for kind, value in steps:
        match kind, value:
            case "append", list(values):
                runs = list(as_batches(values, kafka.log_end, now))
                for run in runs:
                    kafka.append(run, roll, now)
                ours.add_all([joined(runs)], roll, batches_of=lambda _, runs=runs: runs)  # type: ignore[misc]
            case "clock", int(step):
                now += step
            case "delete_records", int(percent):
                log_start = kafka.log_start = max(log_start, kafka.log_end * percent // 100)
            case "roll policy", (int(size), int(age)):
                roll = RollPolicy(size, age)
            case "retention", (int(size), int(age), int(percent)):
                high_watermark = max(log_start, kafka.log_end * percent // 100)
                policy = RetentionPolicy(size, age)
                kafka.delete_old_segments(policy, high_watermark, now)
                log_start = ours.delete_old(
                    policy,
                    log_start=log_start,
                    log_end=kafka.log_end,
                    high_watermark=high_watermark,
                    now_ms=now,
                )
        assert log_start == kafka.log_start
        assert bases(ours) == [segment.base_offset for segment in kafka.segments if segment.size]


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
