"""The ledgers of the partitions that a node leads, for the node that tells of all of them.

Each state of a partition's ledgers has a number that grows within the life of a process.  What has changed
after a number is found by looking at all partitions, at 1 µs each; nothing is remembered for those who ask.
"""

from __future__ import annotations

from collections.abc import Generator
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from broker.config.message_keys import counts_batches
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace
from wal.ledgers import Ledgers, Span, next_change

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topic import Topic
    from broker.storage.vnodes import Vnodes

PARTITIONS_PER_ANSWER: Final = 1_000

SPANS_PER_ANSWER: Final = 5_000
"""The ledgers of an answer, but for those of one partition: 250 KB."""


class OwnLedgers(NamedTuple):
    """The ledgers of a partition."""

    topic_id: UUID
    partition: int
    spans: list[Span]


class Changed(NamedTuple):
    """The first partitions that have changed."""

    partitions: list[OwnLedgers]
    next_after: int
    """The number after which the others have changed."""
    has_more: bool


def counts(topic: Topic) -> bool:
    """Whether the batches of a topic are counted."""
    return topic.view is None and topic.recorded and counts_batches(topic.configs)


def changed_ledgers(metadata: Metadata, vnodes: Vnodes, after: int) -> Generator[None, None, Changed]:
    """Return the partitions of which the ledgers have changed after a number, the oldest change first."""
    # What changes from now on is left to the next question: some of it may have been passed already.
    limit = next_change()
    found: list[tuple[int, int, Topic, int]] = []
    pace = Pace(PLAIN_ITEMS_PER_STEP)
    for topic in [topic for topic in metadata.catalogue.by_name.values() if counts(topic)]:
        for index in range(topic.partition_count):
            ledgers = ledgers_here(vnodes, topic, index)
            if ledgers is not None and after < ledgers.changes < limit:
                found.append((ledgers.changes, len(found), topic, index))
            if pace.due():
                yield None
    partitions: list[OwnLedgers] = []
    next_after, spans = after, 0
    first = nsmallest(PARTITIONS_PER_ANSWER, found)
    for number, _, topic, index in first:
        if spans > SPANS_PER_ANSWER:
            break
        if (ledgers := ledgers_here(vnodes, topic, index)) is not None:
            partitions.append(OwnLedgers(topic.topic_id, index, list(ledgers.spans())))
            spans += len(partitions[-1].spans)
        next_after = number
        yield None
    else:
        if len(first) == len(found):
            return Changed(partitions, limit, False)
    return Changed(partitions, next_after, True)


def ledgers_here(vnodes: Vnodes, topic: Topic, index: int) -> Ledgers | None:
    """Return the ledgers of a partition; None if its batches are not counted, or another node leads it."""
    vnode = vnodes.here(topic.database, topic.vnode_index(index))
    return None if vnode is None else vnode.log.ledgers(topic.stream_id(index))
