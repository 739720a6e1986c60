"""CreatePartitions: v0-3.

Behaviour: a topic grows to `count` partitions; it never shrinks.  A topic named twice is refused.  A view
grows with the topic it reads, so it answers POLICY_VIOLATION.  A request that asks for more partitions than
kawal.max.partitions.per.request is refused as a whole with POLICY_VIOLATION.  Growth of a topic that holds
records is logged with what it does to the order of keys.  Topics whose partitions split
(kawal.partition.autosplit.mode) answer INVALID_PARTITIONS.
Differences from Apache Kafka: Kafka counts records of its metadata log instead, at most 10,000.  On several
nodes a client may place new partitions only where they come to anyway (39).
Version notes: v2 flexible; v3 THROTTLING_QUOTA_EXCEEDED.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from broker.catalogue.guards import check_quota, check_request_size
from broker.catalogue.topic_admin import growth_record
from broker.catalogue.view_admin import check_changeable
from broker.config.kawal_topic_keys import COLUMNS_KEY
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps, chunks, in_slices, made_of, tallied
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import PartitionsAdded
    from broker.catalogue.topics import Catalogue, Topic
    from broker.core import Broker

logger = logging.getLogger("kawal.broker")

TOPICS_PER_SLICE = 25
"""The number of topics grown without a pause."""


def handle(broker: Broker, call: Call[CreatePartitionsRequest]) -> CreatePartitionsResponse | Parked | Steps:
    """Grow the topics, or with `validate_only` answer what would happen."""
    answer: CreatePartitionsResponse | Parked | Steps = in_slices(
        _grow_all(broker, call), len(call.request.topics), per_slice=TOPICS_PER_SLICE
    )
    return answer


def _grow_all(broker: Broker, call: Call[CreatePartitionsRequest]) -> Steps:
    request = call.request
    times = yield from tallied(topic.name for topic in request.topics)
    added = yield from made_of(
        request.topics, partial(_added, broker.catalogue), per_step=PLAIN_ITEMS_PER_STEP
    )
    try:
        check_request_size(added, broker.config)
    except RequestError as error:
        return CreatePartitionsResponse(results=[_refused(name, error) for name in times])
    # Each name is answered once, in the place of its first mention.
    first: dict[str, CreatePartitionsTopic] = {}
    for part in chunks(request.topics, per_step=PLAIN_ITEMS_PER_STEP):
        for topic in part:
            first.setdefault(topic.name, topic)
        yield
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)

    def answer(name: str) -> CreatePartitionsTopicResult:
        result = _grow(broker, call, first[name], times=times[name])
        if not (result.error_code or request.validate_only):
            pending.made(result)
        return result

    results = yield from made_of(times, answer, per_step=5)
    return pending.answer(CreatePartitionsResponse(results=results))


def _ends(broker: Broker, topic: Topic) -> tuple[int, ...]:
    """Return the ends of the decided records of a topic's partitions: no crash can move them back.

    Raises: RequestError(INVALID_REQUEST), if other nodes lead some of them.
    """
    if broker.nodes.count > 1:
        text = "a topic with columns does not grow on several nodes: none of them knows all its keys"
        raise RequestError(ErrorCode.INVALID_REQUEST, text)
    partitions = (broker.topics.partition(topic, index) for index in range(topic.partition_count))
    return tuple(partition.last_stable_offset for partition in partitions)


def _grow(
    broker: Broker, call: Call[CreatePartitionsRequest], asked: CreatePartitionsTopic, *, times: int
) -> CreatePartitionsTopicResult:
    try:
        if times > 1:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        topic = broker.catalogue.by_name.get(asked.name)
        if topic is None:
            raise RequestError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        check_changeable(topic, "it grows with its source")
        assignments = None if asked.assignments is None else [item.broker_ids for item in asked.assignments]
        record = growth_record(
            topic,
            asked.count,
            assignments,
            catalogue=broker.catalogue,
            config=broker.config,
            nodes=broker.nodes,
        )
        if COLUMNS_KEY.name in topic.configs:
            record = msgspec.structs.replace(record, ends=_ends(broker, topic))
        check_quota(call, record.count)
        if not call.request.validate_only:
            broker.metadata_log.append(record, call.received_ms)
            _warn(broker, topic, record)
    except RequestError as error:
        return _refused(asked.name, error)
    return CreatePartitionsTopicResult(name=asked.name)


def _warn(broker: Broker, topic: Topic, record: PartitionsAdded) -> None:
    """Log what becomes of the order of keys, if the topic has records."""
    if any(partition.log_end for partition in islice(broker.topics.led(topic), 100)):
        logger.warning(
            "topic %r grows from %d to %d partitions: new records of a key may go to another partition and be"
            " read before earlier ones; with kawal.partition.autosplit.mode partitions split in order",
            topic.name,
            record.first_partition,
            record.first_partition + record.count,
        )


def _added(catalogue: Catalogue, asked: CreatePartitionsTopic) -> int:
    """Return how many partitions more a topic is to have."""
    topic = catalogue.by_name.get(asked.name)
    return 0 if topic is None else max(0, asked.count - topic.planned_count)


def _refused(name: str, error: RequestError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)
