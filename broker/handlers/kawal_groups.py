"""KawalGroups: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: lists the members of groups, lost ones for ten minutes, and the progress of groups in every
partition they subscribe to or have committed, with log ends and lag.  An unknown group has no rows.  A fetch
from a partition of a member by its host and client id counts as its poll.
Differences from Apache Kafka: Kafka has no such API.
Version notes: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker.coordinators.group_lag import lag_of

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.member_polls import Member, fetched_ms, owned_places
from broker.loop.call import Call
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
        wall_ms = broker.clock.wall_ms(now_ms)
        fetched = fetched_ms(consumers, owned_places(rows), broker.connections.values(), broker.clock)
        response.consumers += [_consumer(row, fetched, wall_ms) for row in consumers]
        infos = yield from made_of(rows, partial(_subscription, broker, wall_ms), per_step=ROWS_PER_STEP)
        response.subscriptions += filter(None, infos)
        yield
    return response


def _consumer(row: ConsumerRow, fetched: Mapping[Member, int], wall_ms: int) -> ConsumerInfo:
    """Return the row; a fetch from a partition of its own is a poll."""
    values: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(ConsumerRow)}
    values["topics"] = list(row.topics)
    polled_ms = fetched.get((row.group_id, row.consumer_id), 0)
    if polled_ms > row.poll_ms:
        values |= {"poll_ms": polled_ms, "idle_ms": max(0, wall_ms - polled_ms)}
    return ConsumerInfo(**values)


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
