"""The partitions that a fetch asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.errors import RequestError
from broker.security.authorized_operations import Operation
from broker.storage.leader_epochs import NO_EPOCH, check_leader_epoch
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.security.rights import Rights
    from broker.storage.partition import Partition
    from protocol.messages.fetch import FetchRequest

PartitionKey = tuple[str | UUID, int]

ITEM_BYTES: Final = 420
"""The memory of an item with its key and its place in a table (measured: 402)."""


class FetchItem:
    """One partition that a fetch asks for, and what its session last told the client about it."""

    __slots__ = (
        "by_id",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "leader_epoch",
        "max_bytes",
        "name",
        "sent_high_watermark",
        "sent_log_start",
        "topic",
        "topic_id",
    )

    def __init__(self, name: str, topic_id: UUID, index: int, *, by_id: bool) -> None:
        self.by_id = by_id
        self.name = name
        self.topic_id = topic_id
        self.index = index
        self.fetch_offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        # The topic as it was last found; it tells a deleted topic from one that was never known.
        self.topic: Topic | None = None
        self.sent_high_watermark = -1
        self.sent_log_start = -1

    def is_news(self, *, high_watermark: int, log_start: int) -> bool:
        """Return whether the session's client does not know these marks yet, and remember them as sent."""
        news = self.sent_high_watermark != high_watermark or self.sent_log_start != log_start
        self.sent_high_watermark = high_watermark
        self.sent_log_start = log_start
        return news


def may_fetch(rights: Rights, request: FetchRequest) -> bool:
    """Whether a client may fetch at all; one that says that it is a replica needs CLUSTER_ACTION."""
    replica_id = request.replica_id if request.replica_state is None else request.replica_state.replica_id
    return replica_id < 0 or rights.may_cluster(Operation.CLUSTER_ACTION)


def find_partition(metadata: Metadata, item: FetchItem, rights: Rights | None = None) -> Partition:
    """Return the partition an item names, by topic id where it has one.

    Raises: RequestError, with 100 for a topic id that this item never saw, with 3 for a topic or partition
    that was deleted or never existed, with 29 for one that the client may not read.
    """
    known = item.topic
    topic = metadata.catalogue.find_id(item.topic_id) if item.by_id else metadata.catalogue.find(item.name)
    name = item.name if topic is None else topic.name
    is_known = topic is not None or not item.by_id
    if rights is not None and is_known and not rights.may_read(name):
        raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if topic is None:
        unknown_id = item.by_id and known is None
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    item.topic = topic
    return metadata.topics.partition(topic, item.index)


def find_to_read(metadata: Metadata, item: FetchItem, rights: Rights | None) -> Partition:
    """Return the same, unless the client knows another leader epoch.  Raises: RequestError."""
    partition = find_partition(metadata, item, rights)
    # Here, and only here, Kafka takes every negative epoch for no epoch.
    epoch = max(item.leader_epoch, NO_EPOCH)
    is_alone = metadata.nodes.count == 1
    check_leader_epoch(partition, epoch, metadata.topics.leader_epoch, is_alone=is_alone)
    return partition
