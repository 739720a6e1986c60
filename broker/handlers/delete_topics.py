"""DeleteTopics: v1-6.

Behaviour: a topic's records are gone when the answer leaves; its id and stream ids are never used again.
Parked fetches on it are answered at once.  A topic that views read is kept: POLICY_VIOLATION, and the message
names the views.  With kawal.drop.policy=refuse (of the topic, its database as drop.policy, or the server) a
topic that members of groups subscribe to is kept in the same way, and so is a topic that
kawal.deletion.protected protects.  A name or id given twice is refused once, and so is a topic given by both
its name and its id.
Differences from Apache Kafka: none known; a name that no topic can have answers 3, as in Kafka.
Version notes: v4 flexible; v5 error messages, THROTTLING_QUOTA_EXCEEDED (KIP-599); v6 either the name or the
topic id (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.guards import check_deletable, check_quota, drop_policy
from broker.catalogue.topics import Topic
from broker.catalogue.view_admin import check_unused

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import (
    ITEMS_PER_STEP,
    PLAIN_ITEMS_PER_STEP,
    Steps,
    chunks,
    emptied,
    in_slices,
    made_of,
)
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.core import Broker

GROUPS_NAMED: Final = 10
"""The most groups that a message names."""


TOPICS_PER_SLICE: Final = 25
"""The number of topics deleted without a pause."""


def handle(broker: Broker, call: Call[DeleteTopicsRequest]) -> DeleteTopicsResponse | Parked | Steps:
    """Delete every topic that is named, once and in one way."""
    request = call.request
    count = len(request.topics) + len(request.topic_names)
    answer: DeleteTopicsResponse | Parked | Steps = in_slices(
        _answer_all(broker, call), count, per_slice=TOPICS_PER_SLICE
    )
    return answer


def _answer_all(broker: Broker, call: Call[DeleteTopicsRequest]) -> Steps:
    request = call.request
    asked = request.topics
    if call.version < 6:
        asked = yield from made_of(
            request.topic_names,
            lambda name: DeleteTopicState(name=name, topic_id=ZERO_UUID),
            per_step=PLAIN_ITEMS_PER_STEP,
        )
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    results = yield from _delete_all(broker, call, (yield from _named(broker, asked)), pending)
    return pending.answer(DeleteTopicsResponse(responses=results))


def _delete_all(
    broker: Broker,
    call: Call[DeleteTopicsRequest],
    named: list[Topic | DeletableTopicResult],
    pending: PendingChanges,
) -> Generator[None, None, list[DeletableTopicResult]]:
    """Delete views first, so that a request may name a topic together with the views that read it."""
    views = yield from made_of(
        named, lambda item: isinstance(item, Topic) and item.view is not None, per_step=PLAIN_ITEMS_PER_STEP
    )
    order = [*compress(range(len(named)), views), *compress(range(len(named)), map(not_, views))]
    results: dict[int, DeletableTopicResult] = {}

    def answer(index: int) -> None:
        item = named[index]
        if isinstance(item, Topic):
            results[index] = _delete(broker, call, item)
            if not results[index].error_code:
                pending.made(results[index])
        else:
            results[index] = item

    yield from made_of(order, answer, per_step=5)
    count = len(named)
    # The topics that nothing else refers to are freed here.
    yield from emptied(named)
    return list(map(results.__getitem__, range(count)))


def _delete(broker: Broker, call: Call[DeleteTopicsRequest], topic: Topic) -> DeletableTopicResult:
    try:
        check_quota(call, topic.planned_count)
        delete_one(broker, topic, call.received_ms, force=False)
    except RequestError as error:
        return _refused(topic.name, topic.topic_id, error)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)


def delete_one(broker: Broker, topic: Topic, now_ms: int, *, force: bool) -> None:
    """Delete a topic if nothing protects it; `force` does so whatever groups subscribe to it.

    Raises: RequestError.
    """
    if broker.catalogue.by_id.get(topic.topic_id) is not topic:
        # Another request has deleted it since this one began.
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not broker.config.delete_topic_enable:
        raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false on the server")
    check_deletable(topic, broker.catalogue, broker.config)
    check_unused(topic, broker.catalogue)
    if not force:
        _check_subscribers(broker, topic)
    broker.delete_topic(topic, now_ms)


def _check_subscribers(broker: Broker, topic: Topic) -> None:
    policy, source = drop_policy(topic, broker.catalogue, broker.config)
    if policy != "refuse":
        return
    groups = sorted(broker.groups.subscribers(topic.name))
    if groups:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"topic {topic.name!r} has subscribers in groups {', '.join(groups[:GROUPS_NAMED])}; end them "
            f"first, drop it with DROP TOPIC FORCE, or set {source}=always",
        )


def _named(
    broker: Broker, asked: list[DeleteTopicState]
) -> Generator[None, None, list[Topic | DeletableTopicResult]]:
    """Return the topics to delete, and the answers to items that name no topic."""
    names: Counter[str | None] = Counter()
    ids: Counter[UUID] = Counter()
    for part in chunks(asked, per_step=PLAIN_ITEMS_PER_STEP):
        names.update(item.name for item in part if item.topic_id == ZERO_UUID)
        ids.update(item.topic_id for item in part if item.name is None)
        yield
    seen: set[tuple[str | None, UUID]] = set()
    found: list[Topic | DeletableTopicResult] = []
    for number, item in enumerate(asked):
        if not number % ITEMS_PER_STEP:
            yield
        key = item.name, item.topic_id
        try:
            _check_key(item)
            if key in seen:
                continue
            seen.add(key)
            _check_once(item, names, ids)
            topic = _find(broker, item)
        except RequestError as error:
            found.append(_refused(item.name, item.topic_id, error))
            continue
        if not (names[topic.name] == 1 and ids[topic.topic_id] == 1):
            found.append(topic)
        elif item.name is not None:
            why = "The provided topic name maps to an ID that was already supplied."
            found.append(_refused(topic.name, topic.topic_id, RequestError(ErrorCode.INVALID_REQUEST, why)))
    return found


def _check_key(item: DeleteTopicState) -> None:
    if item.name is not None and item.topic_id != ZERO_UUID:
        raise RequestError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if item.name is None and item.topic_id == ZERO_UUID:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")


def _check_once(item: DeleteTopicState, names: Counter[str | None], ids: Counter[UUID]) -> None:
    if item.name is not None and names[item.name] > 1:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    if item.name is None and ids[item.topic_id] > 1:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic id.")


def _find(broker: Broker, item: DeleteTopicState) -> Topic:
    if not broker.config.delete_topic_enable:
        raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false on the server")
    if item.name is None:
        topic = broker.catalogue.by_id.get(item.topic_id)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        return topic
    topic = broker.catalogue.by_name.get(item.name)
    if topic is None:
        why = "This server does not host this topic-partition."
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
    return topic


def _refused(name: str | None, topic_id: UUID, error: RequestError) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
    )
