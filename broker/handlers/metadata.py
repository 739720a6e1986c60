"""Metadata: v0-13.

Behaviour: one node, which leads every partition with epoch 0.  A topic that does not exist is created when
the
client allows it (v4+, implied below) and `auto.create.topics.enable` holds; the answer waits until the new
topic
is durable and then shows it, so that no client has to ask twice.  v0: no topics means all of them.
Differences from Apache Kafka: a topic created here is in the same answer (Kafka answers 3 first); authorised
operations are not told before authorisation exists.  With `kawal.accept.replication.factor` the replica list
still names the one replica there is.
Version notes: v1 null topics = all, controller; v2 cluster id; v4 allow auto creation; v5 offline replicas;
v7
leader epoch; v8 authorised operations; v9 flexible; v10 topic ids (KIP-516); v12 by topic id; v13 top-level
error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.call import PARKED, Call, Parked
from broker.errors import RequestError
from broker.partition import LEADER_EPOCH
from broker.topic_admin import NewTopic, check_name
from broker.topics import Topic
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[MetadataRequest]) -> MetadataResponse | Parked:
    """Describe the topics asked for, creating those that may be created."""
    asked = call.request.topics
    host, port = call.connection.told
    node_id = broker.config.node_id
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=broker.config.broker_rack)
        ],
        cluster_id=broker.cluster_id,
        controller_id=node_id,
        topics=[],
    )
    if asked is None or (call.version == 0 and not asked):
        response.topics = [topic_answer(topic, node_id) for topic in broker.catalogue.by_name.values()]
        return response
    created = _create_missing(broker, call, asked)
    response.topics = [_answer(broker, call.version, item, node_id) for item in asked]
    if not created:
        return response

    def recorded(error: ErrorCode | None) -> None:
        for answer in response.topics:
            if error is not None and answer.name in created:
                answer.error_code = error
        call.reply(response)

    broker.topics.when_durable(recorded, call.received_ms)
    return PARKED


def _create_missing(
    broker: Broker, call: Call[MetadataRequest], asked: list[MetadataRequestTopic]
) -> set[str]:
    """Create the named topics that do not exist and may be created; the names of the new ones."""
    created: set[str] = set()
    if not (call.request.allow_auto_topic_creation and broker.config.auto_create_topics_enable):
        return created
    for item in asked:
        name = item.name
        if name is None or item.topic_id != ZERO_UUID or name in broker.catalogue.by_name:
            continue
        try:
            broker.topics.create(
                broker.topics.check_new(NewTopic(name=name), broker.wall_ms(call.received_ms))
            )
        except RequestError:
            continue
        created.add(name)
    return created


def _answer(broker: Broker, version: int, item: MetadataRequestTopic, node_id: int) -> MetadataResponseTopic:
    if item.topic_id != ZERO_UUID:
        return _answer_by_id(broker, version, item, node_id)
    name = item.name or ""
    topic = broker.catalogue.by_name.get(name)
    if topic is not None:
        return topic_answer(topic, node_id)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(name)
    except RequestError as error:
        code = error.code
    return MetadataResponseTopic(error_code=code, name=name, partitions=[])


def _answer_by_id(
    broker: Broker, version: int, item: MetadataRequestTopic, node_id: int
) -> MetadataResponseTopic:
    topic = broker.catalogue.by_id.get(item.topic_id)
    if topic is not None:
        return topic_answer(topic, node_id)
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID,
        # The name is nullable from v12 on; before, a client may name an id but gets no null.
        name=None if version >= 12 else "",
        topic_id=item.topic_id,
        partitions=[],
    )


def topic_answer(topic: Topic, node_id: int) -> MetadataResponseTopic:
    """A topic that exists, with all its partitions."""
    nodes = [node_id]
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=[
            MetadataResponsePartition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=nodes,
                isr_nodes=nodes,
            )
            for index in range(topic.partition_count)
        ],
    )
