"""Changes of share groups in partitions that other nodes lead: the coordinator has the leaders make them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from broker.catalogue.metadata import Metadata
from broker.loop.latch import Latch
from broker.loop.loop import Loop
from broker.loop.slices import Pace, Until
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queue_changes import ChangedPartition, KawalQueueChangesRequest, QueueTopicItem

WAIT_MS: Final = 5_000
"""The time that a leader has; its partitions get an error after that."""

VERSION: Final = 0

Rows = dict[int, list[ChangedPartition]]
"""The rows of a topic's partitions; a client may name one twice."""

LATE: Final = "The leader of the partition has not answered in time. The change may have been made."


class ChangesElsewhere:
    """The partitions of one request that others are to change."""

    def __init__(self, metadata: Metadata, loop: Loop, request: KawalQueueChangesRequest) -> None:
        self._metadata = metadata
        self._loop = loop
        self._request = request
        # The rows to fill, by node, topic and partition.
        self._rows: dict[int, dict[str, Rows]] = {}

    def ask(self, leader: int, topic_name: str, row: ChangedPartition) -> None:
        """Have `make` ask for the change of a partition."""
        rows = self._rows.setdefault(leader, {}).setdefault(topic_name, {})
        rows.setdefault(row.partition_index, []).append(row)

    def make(self) -> Generator[Until | None, None, None]:
        """Have all leaders make their changes, and fill the rows with what they answer."""
        until_ms = self._loop.clock.turn_ms + WAIT_MS
        answers: dict[int, Latch[Any]] = {}
        for leader, topics in self._rows.items():
            answers[leader] = Latch()
            self._metadata.nodes.peers.call(leader, self._part(topics), VERSION, answers[leader].set)
        for leader, topics in self._rows.items():
            found = yield from answers[leader].wait(self._loop.timers, until_ms)
            yield from _fill(topics, found[0] if found else None)

    def _part(self, topics: dict[str, Rows]) -> KawalQueueChangesRequest:
        asked = self._request
        return KawalQueueChangesRequest(
            group_id=asked.group_id,
            action=asked.action,
            member_id=asked.member_id,
            offset=asked.offset,
            topics=[QueueTopicItem(topic_name=name, partitions=list(rows)) for name, rows in topics.items()],
        )


def _fill(topics: dict[str, Rows], answer: Any | None) -> Generator[None, None, None]:
    """Fill the rows with what a leader has answered; None: nothing."""
    pace = Pace()
    code, message = (
        (ErrorCode.REQUEST_TIMED_OUT, LATE) if answer is None else (answer.error_code, answer.error_message)
    )
    for row in (row for rows in topics.values() for alike in rows.values() for row in alike):
        row.error_code, row.error_message = code, message
        if pace.due():
            yield
    if answer is None:
        return
    for topic in answer.topics:
        for found in topic.partitions:
            for row in topics.get(topic.topic_name, {}).get(found.partition_index, ()):
                row.records = found.records
                row.error_code, row.error_message = found.error_code, found.error_message
            if pace.due():
                yield
