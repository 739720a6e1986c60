"""The progress of share groups in partitions that other nodes lead: their leaders are asked, as by a client.

Source: Kafka 4.3's coordinators ask for the starts of states (ReadShareGroupStateSummary) and the ends of
partitions; here the leader has both.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from broker.catalogue.metadata import Metadata
from broker.loop.latch import Latch
from broker.loop.loop import Loop
from broker.loop.slices import Pace, Until
from protocol.error_codes import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponsePartition,
)

WAIT_MS: Final = 5_000
"""The time that a leader has; its partitions get an error after that."""

VERSION: Final = 1

UNKNOWN: Final = -1

Row = DescribeShareGroupOffsetsResponsePartition


class OffsetsElsewhere:
    """The partitions of one answer for which others are asked."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop
        # By node, group and topic: the rows to fill, by partition.
        self._rows: dict[int, dict[str, dict[str, dict[int, Row]]]] = {}

    def ask(self, leader: int, group_id: str, topic_name: str, index: int) -> Row:
        """Return the row of a partition, which `fill` fills."""
        rows = self._rows.setdefault(leader, {}).setdefault(group_id, {}).setdefault(topic_name, {})
        return rows.setdefault(
            index, Row(partition_index=index, start_offset=UNKNOWN, leader_epoch=0, lag=UNKNOWN)
        )

    def fill(self) -> Generator[Until | None, None, None]:
        """Ask all leaders, and fill the rows with what they answer."""
        until_ms, pace = self._loop.clock.turn_ms + WAIT_MS, Pace()
        answers: dict[int, Latch[Any]] = {}
        for leader, groups in self._rows.items():
            answers[leader] = Latch()
            # The request is the link's alone, whose thread frees it.
            self._metadata.nodes.peers.call(
                leader, (yield from _request(groups, pace)), VERSION, answers[leader].set
            )
        for leader, groups in self._rows.items():
            found = yield from answers[leader].wait(self._loop.timers, until_ms)
            for topics in groups.values():
                for rows in topics.values():
                    for row in rows.values():
                        row.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
                        row.error_message = ErrorCode.COORDINATOR_NOT_AVAILABLE.text
                        if pace.due():
                            yield None
            for answer in filter(None, found):
                yield from _fill(groups, answer, pace)
            # What is not needed any more is freed as it was made, some at a time.
            while groups:
                groups.popitem()
                if pace.due():
                    yield None


def _request(
    groups: dict[str, dict[str, dict[int, Row]]], pace: Pace
) -> Generator[None, None, DescribeShareGroupOffsetsRequest]:
    request = DescribeShareGroupOffsetsRequest(groups=[])
    for group_id, topics in groups.items():
        asked: list[DescribeShareGroupOffsetsRequestTopic] = []
        request.groups.append(DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=asked))
        for name, rows in topics.items():
            asked.append(DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=list(rows)))
            if pace.due():
                yield None
    return request


def _fill(
    groups: dict[str, dict[str, dict[int, Row]]], answer: Any, pace: Pace
) -> Generator[None, None, None]:
    """Fill the rows with what a leader has answered, which is empty then."""
    while answer.groups:
        group = answer.groups.pop()
        if pace.due():
            yield None
        for topic in group.topics:
            rows = groups.get(group.group_id, {}).get(topic.topic_name, {})
            for found in topic.partitions:
                row = rows.get(found.partition_index)
                if row is not None:
                    row.start_offset, row.leader_epoch, row.lag = (
                        found.start_offset,
                        found.leader_epoch,
                        found.lag,
                    )
                    row.error_code, row.error_message = found.error_code, found.error_message
                if pace.due():
                    yield None
