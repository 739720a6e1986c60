"""The partitions of a share fetch, and where in them its group may find records: a look changes nothing.

A look at a partition is the most frequent thing that share groups do: each fetch looks at each partition of
its session, when it comes and when it is woken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.errors import RequestError
from broker.storage.partition import Partition
from groups.share.delivery import Limits
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.coordinators.shares import Shares

Place = tuple[UUID, int]
"""The id of a topic, and the index of a partition."""


class Span(NamedTuple):
    """Offsets of a partition between which a member may find records to acquire."""

    partition: Partition
    key: ShareKey
    first: int
    end: int


def find_partition(metadata: Metadata, place: Place) -> Partition:
    """Return a partition by its topic's id.

    Raises: RequestError, with 100 for a topic and 3 for a partition that does not exist.
    """
    topic = metadata.catalogue.find_id(place[0])
    if topic is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID)
    return metadata.topics.partition(topic, place[1])


def leader_elsewhere(metadata: Metadata, place: Place) -> int | None:
    """Return the other node that leads a partition; None: this one, or there is no such partition."""
    nodes = metadata.nodes
    topic = None if nodes.count == 1 else metadata.catalogue.find_id(place[0])
    if topic is None or not 0 <= place[1] < topic.partition_count:
        return None
    leader, _ = metadata.topics.leader(topic, place[1])
    return None if leader == nodes.own_id else leader


def end_of(partition: Partition, *, read_committed: bool) -> int:
    """Return the offset up to which a group may read."""
    return partition.last_stable_offset if read_committed else partition.high_watermark


def first_available(
    shares: Shares, key: ShareKey, partition: Partition, limits: Limits, now_ms: int, member_id: str
) -> int | None:
    """Return the first offset that a member may acquire; None while there may be none.

    Raises: NotLoaded, GroupNotFound.
    """
    found = shares.look(key)
    log_start = partition.log_start
    if log_start > found.start:
        with shares.step(now_ms) as machine:
            machine.move_log_start(key, log_start, now_ms)
    if shares.machine.table.ranges.holds_back(key, found):
        return None
    return found.first_acquirable(limits, member_id, now_ms)
