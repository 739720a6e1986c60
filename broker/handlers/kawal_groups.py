"""KawalGroups: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: lists the members of groups, lost ones for ten minutes, and the progress of groups in every
partition they subscribe to or have committed, with log ends and lag.  An unknown group has no rows.  A fetch
from a partition of a member by its host and client id counts as its poll.
Differences from Apache Kafka: Kafka has no such API.
Version notes: none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker.coordinators.group_lag import lag_of
from broker.loop.call import Call
from broker.loop.last_fetch import Place
from broker.loop.slices import Steps, in_slices, made_of
from groups.show import ConsumerRow, SubscriptionRow
from protocol.messages.kawal_groups import (
    ConsumerInfo,
    KawalGroupsRequest,
    KawalGroupsResponse,
    SubscriptionInfo,
)

if TYPE_CHECKING:
    from broker.core import Broker

GROUPS_PER_SLICE: Final = 10
ROWS_PER_STEP: Final = 50
NO_OFFSET: Final = -1


def handle(broker: Broker, call: Call[KawalGroupsRequest]) -> KawalGroupsResponse | Steps:
    """Answer for all groups, or for those that are named."""
    asked = call.request.group_ids
    with broker.groups.step(call.received_ms) as coordinator:
        group_ids = coordinator.group_ids() if asked is None else sorted(set(asked))
    steps = _answer(broker, call, group_ids)
    answer: KawalGroupsResponse | Steps = in_slices(steps, len(group_ids), per_slice=GROUPS_PER_SLICE)
    return answer


def _answer(broker: Broker, call: Call[KawalGroupsRequest], group_ids: list[str]) -> Steps:
    now_ms = call.received_ms
    response = KawalGroupsResponse(consumers=[], subscriptions=[])
    for start in range(0, len(group_ids), GROUPS_PER_SLICE):
        chosen = group_ids[start : start + GROUPS_PER_SLICE]
        with broker.groups.step(now_ms) as coordinator:
            consumers = list(coordinator.consumers(now_ms, chosen))
            found = coordinator.subscriptions(now_ms, chosen)
        rows = yield from made_of(found, lambda row: row, per_step=ROWS_PER_STEP)
        response.consumers += _with_fetches(broker, map(_consumer, consumers), rows, now_ms)
        wall_ms = broker.clock.wall_ms(now_ms)
        infos = yield from made_of(rows, partial(_subscription, broker, wall_ms), per_step=ROWS_PER_STEP)
        response.subscriptions += filter(None, infos)
        yield
    return response


def _consumer(row: ConsumerRow) -> ConsumerInfo:
    values: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(ConsumerRow)}
    values["topics"] = list(row.topics)
    return ConsumerInfo(**values)


def _with_fetches(
    broker: Broker, consumers: Iterable[ConsumerInfo], rows: Iterable[SubscriptionRow], now_ms: int
) -> list[ConsumerInfo]:
    """Return the consumers; a fetch from a partition of their own is a poll."""
    owned: dict[tuple[str, str], set[Place]] = defaultdict(set)
    for row in rows:
        if row.consumer_id is not None:
            owned[row.group_id, row.consumer_id].add((row.topic, row.partition))
    shown = list(consumers)
    by_client: dict[tuple[str, str], list[ConsumerInfo]] = defaultdict(list)
    for info in shown:
        if (info.group_id, info.consumer_id) in owned:
            by_client[info.host, info.client_id].append(info)
    for connection in broker.connections.values():
        fetch = connection.last_fetch
        if fetch is None:
            continue
        fetched_ms = broker.clock.wall_ms(fetch.received_ms)
        for info in by_client.get((f"/{connection.host}", fetch.client_id), ()):
            if fetched_ms > info.poll_ms and fetch.reads(owned[info.group_id, info.consumer_id]):
                info.poll_ms = fetched_ms
                info.idle_ms = max(0, broker.clock.wall_ms(now_ms) - fetched_ms)
    return shown


def _subscription(broker: Broker, wall_ms: int, row: SubscriptionRow) -> SubscriptionInfo | None:
    topic = broker.catalogue.find(row.topic)
    if topic is None or row.partition >= topic.partition_count:
        return None
    partition = broker.topics.partition(topic, row.partition)
    lag = lag_of(partition, row.offset, wall_ms)
    return SubscriptionInfo(
        group_id=row.group_id,
        topic=row.topic,
        partition=row.partition,
        vnode=partition.vnode.name,
        consumer_id=row.consumer_id,
        client_id=row.client_id,
        host=row.host,
        offset=NO_OFFSET if row.offset is None else row.offset,
        log_start=lag.log_start,
        end_offset=lag.end_offset,
        lag=lag.records,
        lag_ms=lag.age_ms,
        rows=row.rows,
        rows_since_ms=row.rows_since_ms,
    )
