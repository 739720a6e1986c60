"""KawalTopics: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: describes topics (all but the internal ones) with what Kafka's answers leave out; drops them by
force, that is whatever subscribes to them, with all other refusals of DeleteTopics; gives a view another
definition (RELOAD), and answers the fetches that wait for it; or splits a partition (SPLIT).  The answer
leaves when changes are durable.
A name given twice answers INVALID_REQUEST once.
Differences from Apache Kafka: Kafka has no such API, and closes the connection.
Version notes: none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from broker.catalogue.split_rules import splits
from broker.catalogue.view_admin import read_topic, shown_configs
from broker.catalogue.view_drafts import Draft, prepared
from broker.catalogue.view_reload import reload_record
from broker.config.kawal_topic_keys import COLUMNS_KEY, VALUE_FORMAT_KEY
from broker.errors import RequestError
from broker.handlers.delete_topics import delete_one
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Until, WaitingSteps, in_slices, made_of, tallied
from broker.view_topics.view_loading import load_in_thread
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_topics import (
    KawalTopicsRequest,
    KawalTopicsResponse,
    TopicAction,
    TopicItem,
    TopicResult,
)

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker

LOG: Final = "log"
"""The kind of a topic that stores records."""

TOPICS_PER_SLICE: Final = 100
"""The number of topics described without a pause."""


def handle(broker: Broker, call: Call[KawalTopicsRequest]) -> KawalTopicsResponse | Parked | WaitingSteps:
    """Perform the requested action on every topic that is named."""
    request = call.request
    count = len(broker.catalogue.by_name if request.topics is None else request.topics)
    steps = _answer_all(broker, call)
    if request.action == TopicAction.RELOAD:
        return steps
    answer: KawalTopicsResponse | Parked | WaitingSteps = in_slices(steps, count, per_slice=TOPICS_PER_SLICE)
    return answer


def _answer_all(broker: Broker, call: Call[KawalTopicsRequest]) -> WaitingSteps:
    request = call.request
    items = request.topics
    if items is None:
        items = []
        if request.action == TopicAction.DESCRIBE:
            every = [topic for topic in broker.catalogue.by_name.values() if topic.recorded]
            names = sorted(topic.name for topic in every if not topic.internal)
            items = [TopicItem(name=name) for name in names]
    if request.action == TopicAction.RELOAD:
        yield from load_in_thread(broker.scheduler)
    times = yield from tallied(item.name for item in items)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)

    def act(item: TopicItem, draft: Draft | None = None) -> TopicResult:
        result = TopicResult(name=item.name)
        try:
            if times[item.name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            if request.action == TopicAction.RELOAD:
                _reload(broker, call, item, draft)
                pending.made(result)
            else:
                _act(broker, call, item, result, pending)
        except RequestError as error:
            result.error_code, result.error_message = error.code, error.message
        return result

    first_of_each = list(dict(zip(map(attrgetter("name"), items), items, strict=True)).values())
    if request.action == TopicAction.RELOAD:
        results = yield from _reload_all(broker, first_of_each, act)
    else:
        results = yield from made_of(first_of_each, act, per_step=5)
    if request.action == TopicAction.DESCRIBE:
        yield from _add_trees(broker, results)
    return pending.answer(KawalTopicsResponse(topics=results))


def _add_trees(broker: Broker, results: list[TopicResult]) -> Generator[None, None, None]:
    """Add the partition trees of topics that have one; those of 10,000 partitions have 20,000 rows."""
    for result in results:
        topic = broker.catalogue.by_name.get(result.name)
        if topic is not None and not result.error_code and splits(topic.configs):
            try:
                result.tree = yield from broker.splits.rows(topic)
            except RequestError as error:
                result.error_code, result.error_message = error.code, error.message


def _reload_all(
    broker: Broker, items: list[TopicItem], reload: Callable[[TopicItem, Draft | None], TopicResult]
) -> Generator[Until | None, None, list[TopicResult]]:
    """Reload one view after the other: a statement may take as long as many topics."""
    results = []
    for item in items:
        draft = None if item.statement is None else Draft(item.statement, item.name)
        if draft is not None:
            source_of = partial(read_topic, catalogue=broker.catalogue)
            yield from prepared(draft, source_of, broker.scheduler.offload)
        results.append(reload(item, draft))
        yield None
    return results


def _reload(broker: Broker, call: Call[KawalTopicsRequest], item: TopicItem, draft: Draft | None) -> None:
    topic = broker.find_topic(item.name)
    if draft is None:
        raise RequestError(ErrorCode.INVALID_REQUEST, "A statement is needed to reload a view.")
    record = reload_record(topic, draft, broker.catalogue)
    broker.reload_view(topic, record, call.received_ms)


def _act(
    broker: Broker,
    call: Call[KawalTopicsRequest],
    item: TopicItem,
    result: TopicResult,
    pending: PendingChanges,
) -> None:
    topic = broker.find_topic(item.name)
    match call.request.action:
        case TopicAction.DESCRIBE:
            _describe(broker, topic, result)
        case TopicAction.DROP:
            delete_one(broker, topic, call.received_ms, force=call.request.force)
            pending.made(result)
        case TopicAction.SPLIT:
            broker.splits.split(topic, item.partition, call.received_ms)
            pending.made(result)
        case unknown:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"There is no action {unknown}.")


def _describe(broker: Broker, topic: Topic, result: TopicResult) -> None:
    """Fill in the present state of the topic."""
    result.topic_id = topic.topic_id.hex
    result.partitions = topic.partition_count
    result.created_ms = topic.created_ms
    result.database = broker.catalogue.database_of(topic)
    view = topic.view
    if view is None:
        result.kind, result.columns = LOG, topic.configs.get(COLUMNS_KEY.name, "")
        result.value_format = topic.configs.get(VALUE_FORMAT_KEY.name, "")
        return
    result.kind, result.source, result.meta = view.kind, view.source, view.meta
    result.statement, result.schema = view.statement, shown_configs(topic).get("kawal.schema", "")
