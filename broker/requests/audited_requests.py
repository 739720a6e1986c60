"""The requests whose changes are not in the catalogue: progress of groups, records, databases, log levels.

Each has a function that looks at what the request asks for, and at what is there before it; it returns what
takes the response, and records the events.  A partition or group that is refused has the outcome `failed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from broker.catalogue.config_resources import ResourceType
from broker.loop.auditor import actor_of
from broker.loop.call import Call
from broker.security.audit_trail import ITEMS_MAX, AuditTrail
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_databases import DatabaseAction
from protocol.messages.kawal_queue_changes import QueueAction

TOPICS_MAX: Final = 100
"""The topics of one request that have events of their own; the rest are counted."""

LOOKS_MAX: Final = 1_000
"""The partitions of one request that are looked at before it is handled: about a millisecond of the loop."""

Answered = Callable[[Any], None]
"""Takes the response."""


class _Looks:
    """The looks at partitions that one request has left."""

    def __init__(self) -> None:
        self.left = LOOKS_MAX

    def some(self, partitions: Iterable[int]) -> list[int]:
        """Take as many of these partitions as may be looked at and shown."""
        found = list(islice(partitions, min(self.left, ITEMS_MAX)))
        self.left -= len(found)
        return found


class Watcher:
    """The trail, and the broker whose state is looked at before a change."""

    def __init__(self, trail: AuditTrail, broker: Any) -> None:
        self.trail = trail
        self.broker = broker

    @property
    def blocked(self) -> str:
        """The reason why logins and changes are to be refused; "" if they are not."""
        return self.trail.blocked

    def counts(self) -> dict[str, int]:
        """Return the numbers of events for metrics."""
        return self.trail.counts()

    def tell(
        self, call: Call[Any], event: str, kind: str, name: str, codes: Mapping[Any, int], **shown: Any
    ) -> None:
        """Record what a request has done with one thing; `codes` are the errors by its parts."""
        failed = {str(part): error_name(code) for part, code in codes.items() if code}
        outcome = "ok" if not failed else "failed" if len(failed) == len(codes) else "partly failed"
        actor: dict[str, Any] = actor_of(call)
        self.trail.record(
            event,
            outcome=outcome,
            **actor,
            resource={"type": kind, "name": name},
            errors=failed or None,
            **shown,
        )


def error_name(code: int) -> str:
    """Return Kafka's name of an error."""
    return ErrorCode(code).name


def _committed(broker: Any, group: str, topic: str, partitions: Iterable[int]) -> dict[str, int]:
    """Return the offsets of a group in these partitions."""
    found = {index: broker.groups.committed(group, topic, index) for index in partitions}
    return {str(index): entry.offset for index, entry in found.items() if entry is not None}


def _delete_groups(watcher: Watcher, call: Call[Any]) -> Answered:
    broker, looks = watcher.broker, _Looks()
    before: dict[str, dict[str, dict[str, int]]] = {}
    for group in call.request.groups_names[:TOPICS_MAX]:
        if not looks.left:
            break
        offsets = before.setdefault(group, {})
        for name in islice(broker.groups.topics_read(group), ITEMS_MAX):
            topic = broker.catalogue.find(name)
            if topic is not None:
                parts = looks.some(range(topic.partition_count))
                offsets[name] = _committed(broker, group, name, parts)

    def answered(response: Any) -> None:
        for result in response.results[:TOPICS_MAX]:
            codes = {"group": result.error_code}
            offsets = before.get(result.group_id)
            watcher.tell(call, "group.deleted", "group", result.group_id, codes, before=offsets)
        _tell_rest(watcher, call, "group.deleted", len(response.results))

    return answered


def _offset_delete(watcher: Watcher, call: Call[Any]) -> Answered:
    group, looks = call.request.group_id, _Looks()
    before = {
        topic.name: _committed(
            watcher.broker, group, topic.name, looks.some(item.partition_index for item in topic.partitions)
        )
        for topic in call.request.topics[:TOPICS_MAX]
    }

    def answered(response: Any) -> None:
        codes = _codes(response.topics, "name") or {"group": response.error_code}
        watcher.tell(call, "group.offsets.deleted", "group", group, codes, before=before)

    return answered


def _offset_commit(watcher: Watcher, call: Call[Any]) -> Answered | None:
    """Watch commits without a member: by them tools move a group."""
    request = call.request
    if request.generation_id_or_member_epoch >= 0 or request.member_id:
        return None
    return _moves(watcher, call, None)


def _txn_offset_commit(watcher: Watcher, call: Call[Any]) -> Answered | None:
    """Watch commits without a member that count once their transaction has committed."""
    request = call.request
    if request.generation_id >= 0 or request.member_id:
        return None
    return _moves(watcher, call, request.transactional_id)


def _name_of(broker: Any, topic: Any) -> str:
    """Return the name of a topic in a commit: those of OffsetCommit may have an id instead."""
    topic_id = getattr(topic, "topic_id", None)
    if topic.name or topic_id is None:
        return str(topic.name)
    known = broker.catalogue.by_id.get(topic_id)
    return str(topic_id) if known is None else known.name


def _moves(watcher: Watcher, call: Call[Any], transaction: str | None) -> Answered:
    """Look at offsets that a request sets for a group, in a transaction perhaps."""
    request = call.request
    broker, group, looks = watcher.broker, request.group_id, _Looks()
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    for topic in request.topics[:TOPICS_MAX]:
        name = _name_of(broker, topic)
        offsets = {item.partition_index: item.committed_offset for item in topic.partitions[:ITEMS_MAX]}
        shown = looks.some(offsets)
        before[name] = _committed(broker, group, name, shown)
        after[name] = {str(index): offsets[index] for index in shown}

    def answered(response: Any) -> None:
        codes = _codes(response.topics, "name")
        failed = {part: error_name(code) for part, code in codes.items() if code}
        actor = actor_of(call)
        # A consumer without a group's members commits in the same way, all the time.
        watcher.trail.record_limited(
            "group.offsets.reset",
            (str(actor["user"]), group),
            source=call.connection.host,
            outcome="failed" if failed else "ok",
            **actor,
            resource={"type": "group", "name": group},
            errors=failed or None,
            transaction=transaction,
            before=before,
            after=after,
        )

    return answered


def _queue_changes(watcher: Watcher, call: Call[Any]) -> Answered:
    request = call.request
    event = "queue.purged" if request.action == QueueAction.PURGE else "queue.released"

    def answered(response: Any) -> None:
        codes: dict[str, int] = _codes(response.topics, "topic_name")
        after = {
            topic.topic_name: sum(item.records for item in topic.partitions)
            for topic in response.topics[:ITEMS_MAX]
        }
        if response.error_code:
            codes = {"group": response.error_code}
        group, member = request.group_id, request.member_id
        watcher.tell(call, event, "group", group, codes, member=member, records=after or None)

    return answered


def _markers(watcher: Watcher, call: Call[Any]) -> Answered:
    """Watch markers: by them tools end transactions of others."""
    asked = {marker.producer_id: marker for marker in call.request.markers[:TOPICS_MAX]}

    def answered(response: Any) -> None:
        told = response.markers[:TOPICS_MAX]
        for marker in told:
            codes = _codes(marker.topics, "name", LOOKS_MAX // len(told))
            done = asked.get(marker.producer_id)
            after = (
                None if done is None else {"epoch": done.producer_epoch, "committed": done.transaction_result}
            )
            watcher.tell(call, "transaction.ended", "producer", str(marker.producer_id), codes, after=after)
        _tell_rest(watcher, call, "transaction.ended", len(response.markers))

    return answered


def _share_offsets(event: str) -> Callable[[Watcher, Call[Any]], Answered]:
    def begin(watcher: Watcher, call: Call[Any]) -> Answered:
        # Not the request: a thread frees it when it is answered.
        request, group = call.request, call.request.group_id
        after = {
            topic.topic_name: [
                f"{item.partition_index}: {item.start_offset}"
                for item in getattr(topic, "partitions", ())[:ITEMS_MAX]
            ]
            for topic in request.topics[:ITEMS_MAX]
        }

        def answered(response: Any) -> None:
            codes = {"group": response.error_code}
            items = (
                (topic.topic_name, item)
                for topic in response.responses
                for item in getattr(topic, "partitions", None) or [topic]
            )
            for name, item in islice(items, LOOKS_MAX):
                codes[f"{name}-{getattr(item, 'partition_index', '')}"] = item.error_code
            if len(codes) > 1 and not response.error_code:
                del codes["group"]
            watcher.tell(call, event, "group", group, codes, after=after)

        return answered

    return begin


def _delete_records(watcher: Watcher, call: Call[Any]) -> Answered:
    broker, looks = watcher.broker, _Looks()
    before: dict[str, dict[str, int]] = {}
    for topic in call.request.topics[:TOPICS_MAX]:
        known = broker.catalogue.find(topic.name)
        stored = 0 if known is None or known.view is not None else known.partition_count
        before[topic.name] = {
            str(index): partition.log_start
            for index in looks.some(item.partition_index for item in topic.partitions)
            if 0 <= index < stored and (partition := broker.topics.here(known, index)) is not None
        }

    def answered(response: Any) -> None:
        looks, told = _Looks(), response.topics[:TOPICS_MAX]
        for topic in told:
            parts = topic.partitions[: min(looks.left, ITEMS_MAX)]
            looks.left -= len(parts)
            after = {str(item.partition_index): item.low_watermark for item in parts}
            judged = topic.partitions[: LOOKS_MAX // len(told)]
            codes = {item.partition_index: item.error_code for item in judged}
            starts = before.get(topic.name)
            watcher.tell(call, "records.deleted", "topic", topic.name, codes, before=starts, after=after)
        _tell_rest(watcher, call, "records.deleted", len(response.topics))

    return answered


_DATABASE_CHANGES: Final = {
    int(action): action.name.lower() for action in DatabaseAction if action != DatabaseAction.DESCRIBE
}


def _databases(watcher: Watcher, call: Call[Any]) -> Answered | None:
    """Watch requests for databases: they are made and dropped by disk work, after the request."""
    request = call.request
    action = _DATABASE_CHANGES.get(request.action)
    if request.validate_only or action is None:
        return None
    asked = {
        item.name: {setting.name: setting.value for setting in item.settings}
        for item in request.databases or ()
    }

    def answered(response: Any) -> None:
        for result in response.databases[:TOPICS_MAX]:
            codes = {"database": result.error_code}
            after = {"action": action, **asked.get(result.name, {})}
            watcher.tell(call, "database.requested", "database", result.name, codes, after=after)

    return answered


def _loggers(watcher: Watcher, call: Call[Any]) -> Answered | None:
    """Watch changes of log levels, which last until the server stops and are in no record."""
    request = call.request
    asked = [
        resource for resource in request.resources if resource.resource_type == ResourceType.BROKER_LOGGER
    ]
    if request.validate_only or not asked:
        return None
    levels = watcher.broker.loggers.levels()
    after = {line.name: line.value for resource in asked for line in resource.configs}
    before = {name: levels.get(name) for name in after}

    def answered(response: Any) -> None:
        codes = {
            result.resource_name: result.error_code
            for result in response.responses
            if result.resource_type == ResourceType.BROKER_LOGGER
        }
        node = str(watcher.broker.config.node_id)
        watcher.tell(call, "configs.changed", "logger", node, codes, before=before, after=after)

    return answered


def _codes(topics: Any, field: str, at_most: int = LOOKS_MAX) -> dict[str, int]:
    """Return the error codes of partitions, as far as events show them."""
    parts = ((getattr(topic, field), item) for topic in topics for item in topic.partitions)
    return {f"{name}-{item.partition_index}": item.error_code for name, item in islice(parts, at_most)}


def _tell_rest(watcher: Watcher, call: Call[Any], event: str, count: int) -> None:
    if count > TOPICS_MAX:
        actor: dict[str, Any] = actor_of(call)
        watcher.trail.record("audit.repeats", **actor, of=event, left_out=count - TOPICS_MAX)


Begin = Callable[[Watcher, Call[Any]], Answered | None]
"""Looks at a request before it is handled; None: it changes nothing that is told."""

WATCHED: Final[dict[int, Begin]] = {
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.WRITE_TXN_MARKERS: _markers,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _share_offsets("group.offsets.reset"),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _share_offsets("group.offsets.deleted"),
    ApiKey.KAWAL_DATABASES: _databases,
    ApiKey.KAWAL_QUEUE_CHANGES: _queue_changes,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _loggers,
}
"""The requests by API; those that change something are refused while that cannot be told."""
