"""Which partition stores what is sent to one: itself, or the successor of one that is closed.

A topic of closed partitions (broker/storage/closed.py) takes writes once their logs are settled: what they
stored before their closing is durable, or lost for good.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker.errors import RequestError
from broker.storage.routing import Router
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.catalogue.topic_directory import TopicDirectory
    from broker.config.topic_settings import TopicSettings
    from broker.storage.partition import Partition
    from broker.storage.vnode import Vnode


def router_of(sent_to: Partition, topics: TopicDirectory, settings: TopicSettings) -> Router | None:
    """Return the router for a batch that was sent to a partition; None if its topic needs none."""
    if not settings.routes_records:
        return None
    topic, index = sent_to.topic, sent_to.index
    closed = sent_to if topic.outlet_of(index) != index else None
    return Router(topics.tree(topic), partial(topics.partition, topic), settings, closed)


def undurable(topic: Topic, topics: TopicDirectory) -> Vnode | None:
    """Return a vnode whose commit decides whether the topic can be written to (`check_settled`), or None."""
    tree = topic.tree
    if tree is None or tree.is_settled:
        return None
    parents = [
        (split.cut, topics.partition(topic, split.parent))
        for split in tree.successions
        if topic.outlet_of(split.parent) != split.parent
    ]
    for cut, parent in parents:
        if parent.high_watermark < min(cut, parent.log_end):
            return parent.vnode
    tree.is_settled = all(parent.vnode.log.state != "FAILED" for _, parent in parents)
    return None


def check_settled(topic: Topic) -> None:
    """Refuse writes while the log of a closed partition has failed: what it took back may be there after all.

    To be called when there is nothing `undurable`.  Raises: RequestError(KAFKA_STORAGE_ERROR).
    """
    if topic.tree is not None and topic.tree.successions and not topic.tree.is_settled:
        raise RequestError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"the log of a partition of topic {topic.name!r} that others take the place of has failed, and is"
            " read again; try again",
        )


def outlet_of(partition: Partition, topics: TopicDirectory) -> Partition:
    """Return the partition that takes what is sent to this one: itself, unless it is closed."""
    topic, index = partition.topic, partition.index
    outlet = topic.outlet_of(index)
    return partition if outlet == index else topics.partition(topic, outlet)


def open_outlet_of(partition: Partition, topics: TopicDirectory) -> Partition:
    """Return the partition that takes what is sent to this one.  Raises: RequestError, as `check_settled`."""
    check_settled(partition.topic)
    return outlet_of(partition, topics)
