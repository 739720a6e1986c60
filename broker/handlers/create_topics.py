"""CreateTopics: v2-7.

Behaviour: every topic is checked on its own, in Kafka's order (broker/catalogue/topic_admin.py); the answer
leaves when the new topics are durable.  A name given twice refuses both with INVALID_REQUEST.  A request for
more partitions than kawal.max.partitions.per.request is refused as a whole with POLICY_VIOLATION.
Differences from Apache Kafka: `timeout_ms` is ignored: the answer leaves when the topic exists.  On several
nodes a client may place partitions only as the nodes take turns (39; broker/catalogue/assignments.py).
Version notes: v4 -1 for defaults; v5 flexible, the effective configs in the answer (KIP-525); v6
THROTTLING_QUOTA_EXCEEDED (KIP-599); v7 topic ids.
"""

from __future__ import annotations

# What the first error that suggests a name needs, which took 5 ms of the loop.
import difflib as difflib
from collections import Counter
from collections.abc import Generator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import UUID

from broker.catalogue.catalogue_records import TopicCreated
from broker.catalogue.guards import check_quota, check_request_size
from broker.catalogue.topic_admin import NewTopic
from broker.catalogue.topic_configs import described
from broker.catalogue.view_admin import is_definition, read_topic
from broker.catalogue.view_drafts import Draft, prepared
from broker.catalogue.view_sources import asked_source, may_read_source
from broker.config.config import Config
from broker.config.config_keys import ConfigSource
from broker.config.described_configs import Described
from broker.config.kafka_keys import KAFKA_KEYS as KAFKA_KEYS  # needed for defaults
from broker.config.kawal_topic_keys import ALIAS_KEY, FIXED_NAMES, QUARANTINE_KEY, SQL_KEY
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import (
    ITEMS_PER_SLICE,
    PLAIN_ITEMS_PER_STEP,
    Pace,
    WaitingSteps,
    chunks,
    in_slices,
    in_thread,
    made_of,
    tallied,
)
from broker.view_topics.view_loading import load_in_thread
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker
    from broker.security.rights import Rights


TOPICS_PER_SLICE = 25
"""The number of topics made without a pause: 2 to 5 ms."""

TOPICS_PER_STEP = 5

VIEW_NAMES = frozenset({SQL_KEY.name, ALIAS_KEY.name, QUARANTINE_KEY.name})
"""Configurations of topics that are views, or that views write to."""


def handle(broker: Broker, call: Call[CreateTopicsRequest]) -> CreateTopicsResponse | Parked | WaitingSteps:
    """Create the topics, or with `validate_only` answer what would happen."""
    steps = _create_all(broker, call)
    topics = call.request.topics
    # Of many, even looking for views is left to the steps.
    if len(topics) > TOPICS_PER_SLICE or any(map(_is_wide, topics)) or any(map(_makes_view, topics)):
        return steps
    answer: CreateTopicsResponse | Parked | WaitingSteps = in_slices(
        steps, len(topics), per_slice=TOPICS_PER_SLICE
    )
    return answer


def _create_all(broker: Broker, call: Call[CreateTopicsRequest]) -> WaitingSteps:
    request = call.request
    asked = yield from tallied(topic.name for topic in request.topics)
    first_of_each = yield from _first_of_each(request.topics)
    counts = yield from made_of(request.topics, partial(_asked_count, broker.config), per_step=100)
    try:
        check_request_size(counts, broker.config)
    except RequestError as error:
        why = error.with_traceback(None)
        refused = yield from made_of(
            first_of_each, lambda topic: _refused(topic.name, why), per_step=PLAIN_ITEMS_PER_STEP
        )
        return CreateTopicsResponse(topics=refused)
    offload = broker.scheduler.offload
    makes_views = any(
        (yield from made_of(request.topics, lambda topic: _is_wide(topic) or _makes_view(topic)))
    )
    if makes_views:
        yield from load_in_thread(broker.scheduler)
    configs = KnownConfigs(broker)

    pending = PendingChanges(broker.metadata_log, call, offload)

    def create(topic: CreatableTopic, new: NewTopic) -> CreatableTopicResult:
        if asked[topic.name] == 1:
            result = _create(broker, call, new, configs)
            if not (result.error_code or request.validate_only):
                pending.made(result)
            return result
        return _refused(topic.name, RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))

    results: list[CreatableTopicResult] = []
    # A statement may take as long as many ordinary topics.
    pace = Pace(1 if makes_views else TOPICS_PER_STEP)
    for topic in first_of_each:
        if _is_wide(topic):
            new = yield from in_thread(offload, partial(_new_topic, topic))
        else:
            new = _new_topic(topic)
        if text := new.configs.get(SQL_KEY.name):
            new.draft = Draft(text, new.name)
            yield from prepared(new.draft, partial(read_topic, catalogue=broker.catalogue), offload)
        results.append(create(topic, new))
        if pace.due():
            yield None
    return pending.answer(CreateTopicsResponse(topics=results))


def _asked_count(config: Config, topic: CreatableTopic) -> int:
    """Return how many partitions a topic is to have, as far as the request says."""
    if topic.assignments:
        return len(topic.assignments)
    return config.num_partitions if topic.num_partitions == -1 else max(0, topic.num_partitions)


def _is_wide(topic: CreatableTopic) -> bool:
    """Whether a thread looks at what is asked for: of 50,000 configurations that takes 15 ms."""
    return len(topic.configs) + len(topic.assignments) > ITEMS_PER_SLICE


def _makes_view(topic: CreatableTopic) -> bool:
    if VIEW_NAMES.isdisjoint(map(attrgetter("name"), topic.configs)):
        return False
    configs = dict(map(attrgetter("name", "value"), topic.configs))
    return is_definition(configs) or QUARANTINE_KEY.name in configs


def _first_of_each(topics: list[CreatableTopic]) -> Generator[None, None, list[CreatableTopic]]:
    first: dict[str, CreatableTopic] = {}
    for part in chunks(topics, per_step=PLAIN_ITEMS_PER_STEP):
        for topic in part:
            first.setdefault(topic.name, topic)
        yield
    return list(first.values())


def _new_topic(asked: CreatableTopic) -> NewTopic:
    """Return what is asked for; it takes longer the more there is of it."""
    indexes = [assignment.partition_index for assignment in asked.assignments]
    return NewTopic(
        name=asked.name,
        partition_count=asked.num_partitions,
        replication_factor=asked.replication_factor,
        # A key given twice is accepted, and the last value counts (seen with Kafka 4.3.1).
        configs={config.name: config.value for config in asked.configs},
        assignments={assignment.partition_index: assignment.broker_ids for assignment in asked.assignments},
        assigned_twice=_first_repeated(indexes),
    )


def _create(
    broker: Broker, call: Call[CreateTopicsRequest], new: NewTopic, configs: KnownConfigs
) -> CreatableTopicResult:
    try:
        if call.rights is not None:
            _check_source(broker, call.rights, new)
        record = broker.topics.check_new(new, broker.clock.wall_ms(call.received_ms))
        check_quota(call, record.partition_count)
        if not call.request.validate_only:
            broker.topics.create(record, call.received_ms)
    except RequestError as error:
        return _refused(new.name, error)
    return CreatableTopicResult(
        name=new.name,
        # Also given with validate_only, though the next attempt gets another id.
        topic_id=UUID(hex=record.topic_id),
        num_partitions=record.partition_count,
        replication_factor=record.replication_factor,
        configs=configs.of(record) if call.version >= 5 else [],
    )


def _first_repeated(indexes: list[int]) -> int | None:
    """Return the first index that comes twice."""
    times = Counter(indexes)
    if len(times) == len(indexes):
        return None
    return next(index for index, count in times.items() if count > 1)


def _check_source(broker: Broker, rights: Rights, new: NewTopic) -> None:
    """Refuse a view of what its maker may not read.  Raises: RequestError."""
    source = asked_source(new.configs, new.draft)
    if source is not None and not may_read_source(rights, broker.catalogue, source):
        raise RequestError(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"READ on {source.name!r}, which the view reads, is denied"
        )


def _refused(name: str, error: RequestError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message, configs=[])


class KnownConfigs:
    """The effective configs of new topics, kept because those of one request are mostly the same."""

    def __init__(self, broker: Broker) -> None:
        self._layers = broker.live_config.layers
        self._databases = broker.catalogue.databases
        self._known: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}

    def of(self, record: TopicCreated) -> list[CreatableTopicConfigs]:
        """Return the configs of the topic that this record makes."""
        key = ((record.database, ""), *record.configs.items())
        found = self._known.get(key)
        if found is None:
            entries = described(record.configs, self._layers, self._databases[record.database])
            found = self._known[key] = [_config(entry) for entry in entries]
        return found


def _config(entry: Described) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.key.name,
        value=None if entry.key.sensitive else entry.value,
        read_only=entry.key.name in FIXED_NAMES,
        config_source=ConfigSource(entry.source),
        is_sensitive=entry.key.sensitive,
    )
