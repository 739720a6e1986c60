"""Metadata: v0-13.

Behaviour: all nodes that are there, and for each partition the one that leads it, with its leader epoch;
that of a node that is away has no leader, and LEADER_NOT_AVAILABLE.  A topic that does not exist is created
if the client allows it (v4+, implied below) and `auto.create.topics.enable` is true; the answer waits until
the new topic is durable and then shows it, so that no client has to ask twice; once a request has created
kawal.max.partitions.per.request partitions, further topics stay unknown until the next one.  v0: no topics
means all of them.  A topic named twice is answered once, and if any id is given, only ids count.  Topics
that the client may not describe are left out of all, and answer TOPIC_AUTHORIZATION_FAILED by name.
Differences from Apache Kafka: a topic created here is in the same answer (Kafka answers 3 first).  With
`kawal.accept.replication.factor` the replica list still names the only replica.  The controller is named;
Kafka names any broker.
Version notes: v1 null topics = all, controller; v2 cluster id; v4 allow auto creation; v5 offline replicas;
v7 leader epoch; v8 authorised operations; v9 flexible; v10 topic ids (KIP-516), which v10 and v11 refuse in
the request; v12 by topic id; v13 top-level error.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.asked_topics import create_missing
from broker.catalogue.topic_admin import (
    check_name,
)
from broker.catalogue.topics import (
    INTERNAL_TOPICS,
    Topic,
)
from broker.errors import RequestError
from broker.loop.answers import until_durable
from broker.loop.call import Call, Parked
from broker.loop.slices import (
    PLAIN_ITEMS_PER_STEP,
    Pace,
    Steps,
    WaitingSteps,
    chunks,
    emptied,
    finished,
    in_slices,
    made_of,
)
from broker.security.acls import CLUSTER_NAME, ResourceType
from broker.security.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, Operation
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
    from broker.catalogue.nodes import Node
    from broker.core import Broker
    from broker.security.rights import Rights


IDS_UNSERVED = (10, 11)
"""The versions that can carry ids, which are served from 12 on only."""

TOPICS_PER_SLICE = 100
"""The number of topics described without a pause."""

NO_LEADER: Final = -1

LARGE_PARTITION_COUNT = 5000
"""The number of partitions whose encoding takes 2 ms."""


MADE_PER_STEP: Final = 100
"""The partitions that are made between two looks at the time: about 0.1 ms."""


def handle(broker: Broker, call: Call[MetadataRequest]) -> MetadataResponse | Parked | WaitingSteps:
    """Describe the requested topics, creating those that may be created."""
    asked = call.request.topics
    if _is_about_all(call) and _is_large(broker) and call.rights is None:
        return _shared(broker, call)
    steps = _describe(broker, call, broker.nodes.seen_at(call.connection))
    count = len(broker.catalogue.by_name) if asked is None else len(asked)
    answer: MetadataResponse | Parked | WaitingSteps = in_slices(steps, count, per_slice=TOPICS_PER_SLICE)
    return _as_one(answer) if isinstance(answer, MetadataResponse) else answer


def _is_about_all(call: Call[MetadataRequest]) -> bool:
    asked = call.request.topics
    return asked is None or (call.version == 0 and not asked)


def _is_large(broker: Broker) -> bool:
    catalogue = broker.catalogue
    return len(catalogue.by_name) > TOPICS_PER_SLICE or catalogue.partition_count > LARGE_PARTITION_COUNT


def _shared(broker: Broker, call: Call[MetadataRequest]) -> WaitingSteps:
    """Return the encoded answer about all topics, which clients share until a topic changes."""
    request = call.request
    operations = request.include_cluster_authorized_operations, request.include_topic_authorized_operations
    config = broker.config
    begun = broker.topics.ledgers_begun, *broker.nodes.epochs
    nodes = tuple(broker.nodes.seen_at(call.connection))
    key = call.version, nodes, config.broker_rack, operations, begun
    return (
        yield from broker.answers.answer(
            # What is shown of nodes is what the key says of them.
            key,
            lambda: _describe(broker, call, nodes),
            call.version,
            broker.scheduler.offload,
        )
    )


def _describe(broker: Broker, call: Call[MetadataRequest], nodes: Sequence[Node]) -> WaitingSteps:
    request, asked, rights = call.request, call.request.topics, call.rights
    if asked and call.version in IDS_UNSERVED:
        wrong = yield from made_of(asked, _names_id, per_step=PLAIN_ITEMS_PER_STEP)
        if any(wrong):
            return (yield from _refused(asked))
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=node.node_id, host=node.host, port=node.port, rack=broker.config.broker_rack
            )
            for node in nodes
        ],
        cluster_id=broker.cluster_id,
        controller_id=broker.nodes.controller_among(nodes),
        topics=[],
    )
    if _is_about_all(call):
        usable = yield from _recorded(broker)
        own = yield from _make_partitions(broker, nodes, usable)
        if rights is not None:
            seen = yield from made_of(usable, lambda topic: rights.may_topic(Operation.DESCRIBE, topic.name))
            usable = list(compress(usable, seen))
        response.topics = yield from made_of(usable, lambda topic: topic_answer(broker, topic, own))
        return (yield from _with_operations(call, response))
    asked = yield from _distinct(asked or [])
    denied: list[MetadataResponseTopic | None] = []
    if rights is not None:
        denied = yield from made_of(asked, lambda item: _denial(broker, item, rights))
        asked = list(compress(asked, map(not_, denied)))
    refused: dict[str, ErrorCode] = {}
    if request.allow_auto_topic_creation and broker.config.auto_create_topics_enable:
        refused = yield from create_missing(broker, call, asked)
    planned = yield from made_of(asked, lambda item: _is_planned(broker, item.name))
    if any(planned):
        error = yield from until_durable(broker.metadata_log, call.received_ms)
        if error is not None:
            refused.update((item.name or "", error) for item in compress(asked, planned))
    known = yield from made_of(asked, lambda item: _known(broker, item), per_step=PLAIN_ITEMS_PER_STEP)
    own = yield from _make_partitions(broker, nodes, filter(None, known))
    response.topics = yield from made_of(asked, lambda item: _answer(broker, item, refused, own))
    response = yield from _with_operations(call, response)
    response.topics += filter(None, denied)
    return response


def _denial(broker: Broker, item: MetadataRequestTopic, rights: Rights) -> MetadataResponseTopic | None:
    """Return the answer for a topic that the client may not see, whether it exists or not; else None."""
    by_id = item.topic_id != ZERO_UUID
    topic = broker.catalogue.find_id(item.topic_id) if by_id else None
    if by_id and topic is None:
        return None
    name = (item.name or "") if topic is None else topic.name
    if rights.may_topic(Operation.DESCRIBE, name):
        return None
    return MetadataResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        name=None if by_id else name,
        topic_id=item.topic_id,
        is_internal=not by_id and name in INTERNAL_TOPICS,
        partitions=[],
    )


def _recorded(broker: Broker) -> Generator[None, None, list[Topic]]:
    """Return the topics whose creation is durable."""
    topics = tuple(broker.catalogue.by_name.values())
    recorded = yield from made_of(topics, lambda topic: topic.recorded, per_step=PLAIN_ITEMS_PER_STEP)
    return list(compress(topics, recorded))


def _known(broker: Broker, item: MetadataRequestTopic) -> Topic | None:
    if item.topic_id != ZERO_UUID:
        return broker.catalogue.find_id(item.topic_id)
    return broker.catalogue.find(item.name or "")


def _as_one(response: MetadataResponse) -> MetadataResponse | Steps:
    """Return the response, which a thread encodes if it is large."""
    count = sum(len(topic.partitions) for topic in response.topics)
    return finished(response) if count > LARGE_PARTITION_COUNT else response


def _refused(asked: list[MetadataRequestTopic]) -> Steps:
    """Make the answer to ids in a version too old for them: an error for every topic, and no broker."""
    topics = yield from made_of(
        asked,
        lambda item: MetadataResponseTopic(
            error_code=ErrorCode.INVALID_REQUEST, name=item.name or "", topic_id=item.topic_id, partitions=[]
        ),
    )
    return MetadataResponse(brokers=[], topics=topics)


def _names_id(item: MetadataRequestTopic) -> bool:
    return item.topic_id != ZERO_UUID or item.name is None


def _distinct(asked: list[MetadataRequestTopic]) -> Generator[None, None, list[MetadataRequestTopic]]:
    """Return each topic once, in order of first mention; only the ids if there are any."""
    ids: dict[UUID, MetadataRequestTopic] = {}
    names: dict[str | None, MetadataRequestTopic] = {}
    for part in chunks(asked, per_step=PLAIN_ITEMS_PER_STEP):
        ids.update((item.topic_id, item) for item in part if item.topic_id != ZERO_UUID)
        names.update((item.name, item) for item in part)
        yield
    distinct = list((ids or names).values())
    yield from emptied(ids, names)
    return distinct


def _with_operations(call: Call[MetadataRequest], response: MetadataResponse) -> Steps:
    """Add the authorised operations that the client asked for."""
    request, rights = call.request, call.rights
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = (
            CLUSTER_OPERATIONS if rights is None else rights.operations(ResourceType.CLUSTER, CLUSTER_NAME)
        )
    if request.include_topic_authorized_operations:
        # Kafka gives them for unknown names, but not for unknown ids.
        for part in chunks(response.topics, per_step=PLAIN_ITEMS_PER_STEP):
            for topic in part:
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
                    continue
                topic.topic_authorized_operations = (
                    TOPIC_OPERATIONS
                    if rights is None
                    else rights.operations(ResourceType.TOPIC, topic.name or "")
                )
            yield
    return response


def _is_planned(broker: Broker, name: str | None) -> bool:
    """Whether a topic of that name is being created, by any request."""
    topic = broker.catalogue.by_name.get(name or "")
    return topic is not None and not topic.recorded


def _answer(
    broker: Broker, item: MetadataRequestTopic, refused: dict[str, ErrorCode], own: OwnPartitions
) -> MetadataResponseTopic:
    if item.topic_id != ZERO_UUID:
        return _answer_by_id(broker, item, own)
    name = item.name or ""
    topic = broker.catalogue.find(name)
    if topic is not None:
        return topic_answer(broker, topic, own)
    code = refused.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        check_name(name)
    except RequestError as error:
        code = error.code
    return MetadataResponseTopic(error_code=code, name=name, partitions=[])


def _answer_by_id(broker: Broker, item: MetadataRequestTopic, own: OwnPartitions) -> MetadataResponseTopic:
    topic = broker.catalogue.find_id(item.topic_id)
    if topic is not None:
        return topic_answer(broker, topic, own)
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=item.topic_id, partitions=[]
    )


def topic_answer(broker: Broker, topic: Topic, own: OwnPartitions | None = None) -> MetadataResponseTopic:
    """Return the answer for an existing topic, with all its partitions; some topics have their own."""
    partitions = own.get(topic.topic_id) if own else None
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=partitions
        or _partitions(broker.nodes.own_id, broker.topics.leader_epoch, topic.partition_count),
    )


OwnPartitions = dict[UUID, list[MetadataResponsePartition]]

_made: dict[tuple[int, int], list[MetadataResponsePartition]] = {}


def _partitions(node_id: int, leader_epoch: int, count: int) -> list[MetadataResponsePartition]:
    """Return `count` partitions from 0 on; those of all topics are alike, so they are made only once."""
    made = _made.setdefault((node_id, leader_epoch), [])
    if len(made) < count:
        _make_more(made, node_id, leader_epoch, count)
    return made[:count]


def _make_more(made: list[MetadataResponsePartition], node_id: int, leader_epoch: int, count: int) -> None:
    nodes = [node_id]
    made.extend(_partition(index, nodes, leader_epoch) for index in range(len(made), count))


def _partition(
    index: int, nodes: list[int], leader_epoch: int, *, is_away: bool = False
) -> MetadataResponsePartition:
    if is_away:
        # Source: KRaftMetadataCache.getPartitionMetadata of Kafka 4.3.
        return MetadataResponsePartition(
            error_code=ErrorCode.LEADER_NOT_AVAILABLE,
            partition_index=index,
            leader_id=NO_LEADER,
            leader_epoch=leader_epoch,
            replica_nodes=nodes,
            isr_nodes=nodes,
            offline_replicas=nodes,
        )
    return MetadataResponsePartition(
        partition_index=index,
        leader_id=nodes[0],
        leader_epoch=leader_epoch,
        replica_nodes=nodes,
        isr_nodes=nodes,
    )


def _make_partitions(
    broker: Broker, nodes: Sequence[Node], topics: Iterable[Topic]
) -> Generator[None, None, OwnPartitions]:
    """Make as many partitions as these topics need, in steps: one may have 100,000.

    Return those of topics with leader epochs of their own.
    """
    node_id, leader_epoch = broker.nodes.own_id, broker.topics.leader_epoch
    own: OwnPartitions = {}
    made = _made.setdefault((node_id, leader_epoch), [])
    pace = Pace(PLAIN_ITEMS_PER_STEP)
    away = {*broker.nodes.ids} - {node.node_id for node in nodes}
    for topic in topics:
        if broker.nodes.count > 1:
            made_own = own[topic.topic_id] = []
            for index in range(topic.partition_count):
                leader, epoch = broker.topics.leader(topic, index)
                made_own.append(_partition(index, [leader], epoch, is_away=leader in away))
                if pace.due(PLAIN_ITEMS_PER_STEP // MADE_PER_STEP):
                    yield
            continue
        while len(made) < topic.partition_count:
            _make_more(made, node_id, leader_epoch, min(topic.partition_count, len(made) + MADE_PER_STEP))
            yield
        if (source := broker.topics.epochs_source(topic)) is not None:
            made_own = own[topic.topic_id] = made[: topic.partition_count]
            for index in range(topic.partition_count):
                epoch = broker.topics.own_epoch(source, index)
                made_own[index] = _partition(index, made[index].isr_nodes, epoch)
                if not (index + 1) % MADE_PER_STEP:
                    yield
        if pace.due():
            yield
    return own
