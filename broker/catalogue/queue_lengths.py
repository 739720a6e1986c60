"""The length of a queue, which a topic shares with its tail queue: the topic of the same name with `.rear`.

    records of both, in all partitions, as far as the logs have them  <=  kawal.queue.max.records of the first

Records count until retention or DeleteRecords removes them, whether they were processed or not.
"""

from __future__ import annotations

from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import Topic
from broker.config.kawal_topic_keys import QUEUE_LENGTH_KEY
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

REAR: Final = ".rear"
"""The end of the names of tail queues."""


def rear_of(name: str) -> str:
    """Return the name of a topic's tail queue."""
    return name + REAR


def has_length(metadata: Metadata, topic: Topic) -> bool:
    """Whether the length of a topic may be limited."""
    return topic.name.endswith(REAR) or metadata.topics.settings(topic).kawal_queue_max_records >= 0


def check_length(metadata: Metadata, topic: Topic, count: int) -> None:
    """Refuse so many more records if the queue would be too long; takes 1 µs for each partition.

    Raises: RequestError(POLICY_VIOLATION).
    """
    catalogue = metadata.catalogue
    front = catalogue.find(topic.name.removesuffix(REAR)) or topic
    limit = metadata.topics.settings(front).kawal_queue_max_records
    if limit < 0:
        return
    rear = catalogue.find(rear_of(front.name))
    length = _length(metadata, front) + (0 if rear is None else _length(metadata, rear))
    if length + count > limit:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"the queue is too long: topic {front.name!r} and {rear_of(front.name)!r} have {length} records,"
            f" and {QUEUE_LENGTH_KEY.name}={limit}; delete records from one of them",
        )


def _length(metadata: Metadata, topic: Topic) -> int:
    return sum(partition.log_end - partition.log_start for partition in metadata.topics.led(topic))
