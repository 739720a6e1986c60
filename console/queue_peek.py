"""Records of a share group that are under way or come next, read without acquiring them.

The ranges come from the server, the records by ordinary fetches; what happens in between is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from console.admin import ask_private, check
from console.client import Trouble
from console.errors import CommandError
from console.fetcher import Fetcher
from console.loading import when_loaded
from console.queue_rows import coordinator_of
from protocol.messages.kawal_queues import KawalQueuesRequest, QueueGroup, QueuePartition
from protocol.record_columns import RecordColumns
from protocol.record_reader import Record

POLL_MS: Final = 500
QUIET_POLLS_MAX: Final = 30
"""The polls without a record after which a broker is taken for lost: 15 s."""

RANGES_MAX: Final = 10_000
"""The most ranges that a server names in an answer."""

STATES: Final = {0: "available", 1: "acquired"}


class Partition(NamedTuple):
    """A partition as the fetcher wants it."""

    topic: str
    partition: int


class Segment(NamedTuple):
    """Records in a row that are not finished, up to and including `last`."""

    first: int
    last: int
    state: str
    deliveries: int
    member: str | None
    lock_ms: int | None


class Peeked(NamedTuple):
    """A record, and what the group knows of it."""

    partition: Partition
    record: Record
    segment: Segment


def ask_group(bootstrap: str, group_id: str, ranges_max: int) -> QueueGroup:
    """Return a group with its first ranges of records that are not finished.  Raises: CommandError."""
    request = KawalQueuesRequest(group_ids=[group_id], ranges_max=ranges_max)
    address = coordinator_of(bootstrap, group_id)
    (group,) = when_loaded(lambda: ask_private(address, request)).groups
    assert isinstance(group, QueueGroup)
    check(group.error_code, group.error_message, f"share group {group_id!r}")
    return group


def peek(
    bootstrap: str,
    group: QueueGroup,
    count: int,
    *,
    wanted: Callable[[str, int], bool],
    state: str | None,
    trouble: Trouble,
) -> Iterator[Peeked]:
    """Yield the first `count` records of each partition that are under way or come next, or of one state.

    Raises: CommandError.
    """
    for topic in group.topics:
        for row in topic.partitions:
            if not wanted(topic.topic_name, row.partition_index):
                continue
            partition = Partition(topic.topic_name, row.partition_index)
            check(row.error_code, row.error_message, f"partition {row.partition_index} of {topic.topic_name}")
            segments = segments_of(row)
            segments = [segment for segment in segments if state in (None, segment.state)]
            if segments:
                fetcher = Fetcher(
                    bootstrap,
                    {partition: segments[0].first},
                    ends={partition: segments[-1].last + 1},
                    read_committed=group.read_committed,
                    trouble=trouble,
                )
                try:
                    yield from _read(fetcher, partition, segments, count)
                finally:
                    fetcher.close()


def segments_of(row: QueuePartition) -> list[Segment]:
    """Return the records of a partition that are not finished, as far as the server named them."""
    segments = [
        Segment(
            found.first_offset,
            found.last_offset,
            STATES[found.state],
            found.delivery_count,
            found.member_id or None,
            found.lock_ms if found.member_id else None,
        )
        for found in row.ranges
    ]
    fresh = max(row.end_offset - row.next_offset, 0)
    named = sum(found.last - found.first + 1 for found in segments)
    # Only if these are all, what comes next was never looked at.
    if fresh and named >= row.acquired + row.available - fresh:
        segments.append(Segment(row.next_offset, row.end_offset - 1, STATES[0], 0, None, None))
    return segments


def _read(fetcher: Fetcher, partition: Partition, segments: list[Segment], count: int) -> Iterator[Peeked]:
    remaining = iter(segments)
    segment = next(remaining)
    quiet = 0
    while fetcher.position(partition) <= segments[-1].last:
        records = fetcher.poll(POLL_MS).get(partition, RecordColumns())
        quiet = 0 if records else quiet + 1
        if quiet >= QUIET_POLLS_MAX:
            raise CommandError(
                f"no records came from partition {partition.partition} of {partition.topic!r}: "
                f"offset {fetcher.position(partition)} was asked for"
            )
        for record in records:
            while record.offset > segment.last:
                following = next(remaining, None)
                if following is None:
                    return
                segment = following
            if record.offset >= segment.first:
                yield Peeked(partition, record, segment)
                count -= 1
                if not count:
                    return
