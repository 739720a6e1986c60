"""Checks of requests about topics, their configurations and records, and of Kawal's own requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from broker.catalogue.view_sources import may_read_source, source_of_view
from broker.config.config_changes import Operation as Change
from broker.config.group_keys import IMPORTANT_TOPICS
from broker.config.kawal_topic_keys import QUARANTINE_KEY
from broker.config.queue_keys import ANSWERS_TOPIC
from broker.loop.slices import ITEMS_PER_STEP, PLAIN_ITEMS_PER_STEP, made_of, tallied
from broker.requests.passage import MESSAGES, Checks, Passage, refused_of, refused_parts_of, split
from broker.requests.refusals import refusal
from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import alter_configs as alter
from protocol.messages import create_partitions as growth
from protocol.messages import create_topics as creation
from protocol.messages import delete_records as records
from protocol.messages import delete_topics as deletion
from protocol.messages import describe_configs as configs
from protocol.messages import describe_producers as producers
from protocol.messages import incremental_alter_configs as incremental
from protocol.messages import list_offsets as offsets
from protocol.messages import offset_for_leader_epoch as epochs
from protocol.messages.kawal_databases import DatabaseAction
from protocol.messages.kawal_topics import TopicAction, TopicResult
from protocol.wire import ZERO_UUID

DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DENIED_TEXT: Final = MESSAGES[DENIED]

TOPIC_CONFIG, GROUP_CONFIG = 2, 32
CHANGING: Final = frozenset({TopicAction.DROP, TopicAction.RELOAD, TopicAction.SPLIT})
"""The actions of KawalTopics that need rights on each topic."""

CLUSTER_CONFIGS: Final = frozenset({4, 8, 16})
"""The resources whose configurations are the cluster's: nodes, loggers, client metrics."""


def _list_offsets(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.DESCRIBE, topic.name)
    )
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions,
        lambda asked: offsets.ListOffsetsPartitionResponse(
            partition_index=asked.partition_index, error_code=DENIED
        ),
        lambda topic, errors: offsets.ListOffsetsTopicResponse(name=topic.name, partitions=errors),
    )
    _join(passage, "topics", refused)
    return None


def _offset_for_leader_epoch(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if rights.may_cluster(Operation.CLUSTER_ACTION):
        return None
    request.topics, denied = yield from split(
        request.topics, lambda item: rights.may_topic(Operation.DESCRIBE, item.topic)
    )
    refused = yield from refused_parts_of(
        denied,
        lambda item: item.partitions,
        lambda asked: epochs.EpochEndOffset(partition=asked.partition, error_code=DENIED),
        lambda topic, errors: epochs.OffsetForLeaderTopicResult(topic=topic.topic, partitions=errors),
    )
    _join(passage, "topics", refused)
    return None


def _delete_records(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.DELETE, topic.name)
    )
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions,
        lambda asked: records.DeleteRecordsPartitionResult(
            partition_index=asked.partition_index, low_watermark=-1, error_code=DENIED
        ),
        lambda topic, errors: records.DeleteRecordsTopicResult(name=topic.name, partitions=errors),
    )
    _join(passage, "topics", refused)
    return None


def _describe_producers(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.READ, topic.name)
    )
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partition_indexes,
        lambda index: producers.PartitionResponse(
            partition_index=index, error_code=DENIED, error_message=DENIED_TEXT, active_producers=[]
        ),
        lambda topic, errors: producers.TopicResponse(name=topic.name, partitions=errors),
    )
    _join(passage, "topics", refused)
    return None


def _create_topics(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    everything = rights.may_cluster(Operation.CREATE)
    # What is named twice is answered by the handler, whatever the client may do.
    times = yield from tallied(topic.name for topic in request.topics)

    def is_allowed(topic: creation.CreatableTopic) -> bool:
        if times[topic.name] > 1:
            return True
        makes = [topic.name, *_quarantines(topic.configs)]
        if not everything and not all(rights.may_topic(Operation.CREATE, name) for name in makes):
            return False
        return len(makes) == 1 or rights.may_topic(Operation.READ, topic.name)

    request.topics, denied = yield from split(request.topics, is_allowed)

    def hide_configs(response: creation.CreateTopicsResponse) -> None:
        for result in response.topics:
            if not result.error_code and not rights.may_topic(Operation.DESCRIBE_CONFIGS, result.name):
                result.topic_config_error_code = DENIED
                result.num_partitions = result.replication_factor = -1
                result.configs = []

    refused = yield from refused_of(
        denied,
        lambda topic: creation.CreatableTopicResult(
            name=topic.name, error_code=DENIED, error_message="Authorization failed.", configs=[]
        ),
    )
    _join(passage, "topics", refused)
    passage.amend(hide_configs)
    return None


def _quarantines(lines: Iterable[Any]) -> list[str]:
    """Return the topics that configurations have made for records that do not fit.

    Blanks around a name do not count, here as where it is stored: it must be the name that rules have.
    """
    texts = [line.value.strip() for line in lines if line.name == QUARANTINE_KEY.name and line.value]
    return [text for text in texts if text]


def _delete_topics(passage: Passage) -> Checks:
    request, catalogue = passage.request, passage.catalogue
    if passage.call.version < 6:
        request.topics = yield from made_of(
            request.topic_names,
            lambda name: deletion.DeleteTopicState(name=name),
            per_step=PLAIN_ITEMS_PER_STEP,
        )
    names = yield from tallied(item.name for item in request.topics)
    ids = yield from tallied(item.topic_id for item in request.topics)
    denied_items: dict[int, str | None] = {}

    def is_allowed(item: deletion.DeleteTopicState) -> bool:
        by_id = item.name is None
        if (ids if by_id else names)[item.topic_id if by_id else item.name] > 1:
            return True
        if by_id == (item.topic_id == ZERO_UUID):
            return True
        topic = catalogue.by_id.get(item.topic_id) if by_id else catalogue.by_name.get(item.name or "")
        name = item.name if topic is None else topic.name
        if name is None:
            return True
        described = passage.rights.may_topic(Operation.DESCRIBE, name)
        if described and (topic is None or passage.rights.may_topic(Operation.DELETE, name)):
            return True
        denied_items[id(item)] = name if described or not by_id else None
        return False

    request.topics, denied = yield from split(request.topics, is_allowed)
    if passage.call.version < 6:
        request.topic_names = yield from made_of(
            request.topics, lambda item: item.name, per_step=PLAIN_ITEMS_PER_STEP
        )
    refused = yield from refused_of(
        denied,
        lambda item: deletion.DeletableTopicResult(
            name=denied_items[id(item)],
            topic_id=item.topic_id,
            error_code=DENIED,
            error_message=DENIED_TEXT,
        ),
    )
    _join(passage, "responses", refused)
    return None


def _create_partitions(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    times = yield from tallied(topic.name for topic in request.topics)
    request.topics, denied = yield from split(
        request.topics,
        lambda topic: times[topic.name] > 1 or rights.may_topic(Operation.ALTER, topic.name),
    )
    refused = yield from refused_of(
        denied,
        lambda topic: growth.CreatePartitionsTopicResult(
            name=topic.name, error_code=DENIED, error_message=DENIED_TEXT
        ),
    )
    _join(passage, "results", refused)
    return None


def _config_error(rights: Rights, operation: Operation, kind: int, name: str) -> ErrorCode | None:
    """Return the error for configurations of a resource; None for those that no check knows, too."""
    if kind == TOPIC_CONFIG and not rights.may_topic(operation, name):
        return DENIED
    if kind == GROUP_CONFIG and not rights.may_group(operation, name):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if kind in CLUSTER_CONFIGS and not rights.may_cluster(operation):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return None


def _describe_configs(passage: Passage) -> Checks:
    def refused(item: Any, code: ErrorCode) -> Any:
        return configs.DescribeConfigsResult(
            error_code=code,
            error_message=MESSAGES[code],
            resource_type=item.resource_type,
            resource_name=item.resource_name,
            configs=[],
        )

    def code_of(item: Any) -> ErrorCode | None:
        return _config_error(
            passage.rights, Operation.DESCRIBE_CONFIGS, item.resource_type, item.resource_name
        )

    return (yield from _split_configs(passage, "results", code_of, refused))


def _alter_configs(response: Any) -> Callable[[Passage], Checks]:
    def refused(item: Any, code: ErrorCode) -> Any:
        return response(
            error_code=code,
            error_message=MESSAGES[code],
            resource_type=item.resource_type,
            resource_name=item.resource_name,
        )

    def check(passage: Passage) -> Checks:
        rights = passage.rights

        def code_of(item: Any) -> ErrorCode | None:
            kind, name = item.resource_type, item.resource_name
            code = _config_error(rights, Operation.ALTER_CONFIGS, kind, name)
            if code is None and kind == GROUP_CONFIG:
                may_read = all(rights.may_topic(Operation.READ, topic) for topic in _of_group(item.configs))
                return None if may_read else DENIED
            made = _quarantines(item.configs) if code is None and kind == TOPIC_CONFIG else []
            if not made or (rights.may_topic(Operation.READ, name) and _may_create(rights, made)):
                return code
            return DENIED

        return (yield from _split_configs(passage, "responses", code_of, refused))

    return check


def _of_group(lines: Iterable[Any]) -> list[str]:
    """Return the topics that configurations of a group have the server read, or keep longer, for it.

    To take topics off a list needs no right on them.
    """
    texts = [
        line.value
        for line in lines
        if line.name in (IMPORTANT_TOPICS, ANSWERS_TOPIC)
        and line.value
        and getattr(line, "config_operation", Change.SET) != Change.SUBTRACT
    ]
    return [name for text in texts for name in map(str.strip, text.split(",")) if name]


def _may_create(rights: Rights, names: list[str]) -> bool:
    if rights.may_cluster(Operation.CREATE):
        return True
    return all(rights.may_topic(Operation.CREATE, name) for name in names)


def _split_configs(
    passage: Passage,
    field: str,
    code_of: Callable[[Any], ErrorCode | None],
    refused: Callable[[Any, ErrorCode], Any],
) -> Checks:
    errors: list[Any] = []

    def is_allowed(item: Any) -> bool:
        code = code_of(item)
        if code is not None:
            errors.append(refused(item, code))
        return code is None

    # An answer is made with each decision, so a step has fewer of them.
    resources = split(passage.request.resources, is_allowed, per_step=ITEMS_PER_STEP // 2)
    passage.request.resources, _ = yield from resources
    _join(passage, field, errors)
    return None


def _databases(passage: Passage) -> Checks:
    yield from ()
    operation = {DatabaseAction.DESCRIBE: Operation.DESCRIBE, DatabaseAction.CREATE: Operation.CREATE}
    if passage.rights.may_cluster(operation.get(passage.request.action, Operation.ALTER)):
        return None
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _topics(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if request.action not in CHANGING or request.topics is None:
        if rights.may_cluster(Operation.DESCRIBE):
            return None
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    def is_allowed(item: Any) -> bool:
        if request.action == TopicAction.DROP:
            return rights.may_topic(Operation.DELETE, item.name)
        if not rights.may_topic(Operation.ALTER, item.name):
            return False
        topic = passage.catalogue.find(item.name)
        if request.action == TopicAction.SPLIT or topic is None or topic.view is None:
            return True
        return may_read_source(rights, passage.catalogue, source_of_view(topic.view))

    request.topics, denied = yield from split(request.topics, is_allowed)
    refused = yield from refused_of(
        denied,
        lambda item: TopicResult(name=item.name, error_code=DENIED, error_message=DENIED_TEXT),
    )
    _join(passage, "topics", refused)
    return None


def _producers(passage: Passage) -> Checks:
    yield from ()
    if passage.rights.may(Operation.READ, ResourceType.TOPIC, passage.request.topic):
        return None
    return refusal(passage.call.api_key, passage.request, DENIED, DENIED_TEXT)


def _join(passage: Passage, field: str, errors: list[Any]) -> None:
    """Have the errors of what was left out follow the handler's results, in this field of the response."""
    if errors:
        passage.amend(lambda response: getattr(response, field).extend(errors))


CHECKS: Final[dict[int, Callable[[Passage], Checks]]] = {
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs(alter.AlterConfigsResourceResponse),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs(incremental.AlterConfigsResourceResponse),
    ApiKey.KAWAL_DATABASES: _databases,
    ApiKey.KAWAL_TOPICS: _topics,
    ApiKey.KAWAL_PRODUCERS: _producers,
    ApiKey.KAWAL_MESSAGES: _producers,
}
"""The checks by API."""
