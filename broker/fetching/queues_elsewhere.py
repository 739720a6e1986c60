"""The state of share groups in partitions that other nodes lead: their leaders are asked by the coordinator.

A leader tells of its partitions, of what it counted for the group, and of the members that fetch from it.
What all of them tell is added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any, Final
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.loop.latch import Latch
from broker.loop.loop import Loop
from broker.loop.slices import Until, chunks
from groups.share.show import COMPLETE, EXIT, LEAVING, RUNNING
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queues import (
    CounterInfo,
    KawalQueuesRequest,
    MemberInfo,
    QueueGroup,
    QueuePartition,
    QueuePlaces,
)
from protocol.schema import declaration

WAIT_MS: Final = 5_000
"""The time that a leader has; its partitions get an error after that."""

VERSION: Final = 0

ITEMS_PER_STEP: Final = 100

UNKNOWN: Final = -1

_RANKS: Final = {status: rank for rank, status in enumerate((RUNNING, LEAVING, EXIT, COMPLETE))}
"""The states of a member, the one first that counts if several nodes see it in different ones."""

Rows = dict[UUID, dict[int, QueuePartition]]
"""The rows to fill, by topic and partition."""


class QueuesElsewhere:
    """The partitions of one answer for which others are asked."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop
        # By node and group.
        self._rows: dict[int, dict[str, Rows]] = {}

    def ask(self, leader: int, group_id: str, topic_id: UUID, row: QueuePartition) -> None:
        """Have `fill` fill the row of a partition."""
        self._rows.setdefault(leader, {}).setdefault(group_id, {}).setdefault(topic_id, {})[
            row.partition_index
        ] = row

    def fill(self, ranges_max: int) -> Generator[Until | None, None, dict[str, list[QueueGroup]]]:
        """Ask all leaders, fill the rows with what they answer, and return their parts of each group."""
        until_ms = self._loop.clock.turn_ms + WAIT_MS
        answers: dict[int, Latch[Any]] = {}
        for leader, groups in self._rows.items():
            answers[leader] = Latch()
            self._metadata.nodes.peers.call(
                leader, _request(groups, ranges_max), VERSION, answers[leader].set
            )
        parts: dict[str, list[QueueGroup]] = {}
        for leader, groups in self._rows.items():
            found = yield from answers[leader].wait(self._loop.timers, until_ms)
            answer = found[0] if found else None
            if answer is None:
                yield from _unanswered(groups)
                continue
            for part in answer.groups:
                parts.setdefault(part.group_id, []).append(part)
                yield from _fill(groups.get(part.group_id, {}), part)
        return parts


def _request(groups: dict[str, Rows], ranges_max: int) -> KawalQueuesRequest:
    places = [
        QueuePlaces(group_id=group_id, topic_id=topic_id, partitions=list(rows))
        for group_id, topics in groups.items()
        for topic_id, rows in topics.items()
    ]
    return KawalQueuesRequest(group_ids=[], ranges_max=ranges_max, places=places)


def _unanswered(groups: dict[str, Rows]) -> Generator[None, None, None]:
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    rows = [row for topics in groups.values() for topic in topics.values() for row in topic.values()]
    for part in chunks(rows, per_step=ITEMS_PER_STEP):
        for row in part:
            row.error_code, row.error_message = code, code.text
        yield


def _fill(rows: Rows, part: QueueGroup) -> Generator[None, None, None]:
    """Fill the rows with what a leader has answered about a group."""
    for topic in part.topics:
        wanted = rows.get(topic.topic_id, {})
        for some in chunks(topic.partitions, per_step=ITEMS_PER_STEP):
            for found in some:
                row = wanted.get(found.partition_index)
                if row is not None:
                    for field in declaration(QueuePartition).fields:
                        setattr(row, field.name, getattr(found, field.name))
            yield


def added_up(counters: Iterable[CounterInfo]) -> list[CounterInfo]:
    """Return the counters of several nodes as one."""
    sums: Counter[str] = Counter()
    for counter in counters:
        sums[counter.name] += counter.value
    return [CounterInfo(name=name, value=value) for name, value in sums.items()]


def put_together(rows: Iterable[MemberInfo]) -> list[MemberInfo]:
    """Return the rows of members that several nodes see: each member once, in the order of first mention."""
    found: dict[str, MemberInfo] = {}
    for row in rows:
        known = found.setdefault(row.member_id, row)
        if known is row:
            continue
        if _RANKS[row.status] < _RANKS[known.status]:
            known.status = row.status
        known.window += row.window
        known.pending += row.pending
        known.slots += row.slots
        idle_ms = [each.idle_ms for each in (known, row) if each.idle_ms >= 0]
        known.idle_ms = min(idle_ms, default=UNKNOWN)
    return list(found.values())
