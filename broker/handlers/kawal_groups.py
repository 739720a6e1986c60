"""KawalGroups: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: lists the members of groups, lost ones for ten minutes, and the progress of groups in every
partition they subscribe to or have committed, with log ends and lag.  An unknown group has no rows.  A fetch
from a partition of a member by its host and client id counts as its poll.  In a cluster a node shows the
groups that it coordinates, and asks the leaders of other partitions for the lag there.
Differences from Apache Kafka: Kafka has no such API.
Version notes: none.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker.coordinators.group_lag import lag_of

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.member_polls import Member, fetched_ms, owned_places
from broker.loop.call import Call
from broker.loop.latch import Latch
from broker.loop.slices import Steps, Until, WaitingSteps, chunks, in_slices, made_of
from groups.show import ConsumerRow, SubscriptionRow
from protocol.messages.kawal_groups import (
    ConsumerInfo,
    KawalGroupsRequest,
    KawalGroupsResponse,
    PlaceLag,
    PlaceReached,
    SubscriptionInfo,
)

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker

GROUPS_PER_SLICE: Final = 10
ROWS_PER_STEP: Final = 50
NO_OFFSET: Final = -1

PLACES_MAX: Final = 5_000
"""The partitions that a leader is asked about at a time."""

LAGS_WAIT_MS: Final = 3_000
"""How long a leader is waited for: less than the node that joins the answers of all waits for this one."""


def handle(broker: Broker, call: Call[KawalGroupsRequest]) -> KawalGroupsResponse | WaitingSteps:
    """Answer for all groups, or for those that are named."""
    if call.connection.from_peer and call.request.places:
        return _lags(broker, call)
    asked = call.request.group_ids
    with broker.groups.step(call.received_ms) as coordinator:
        group_ids = coordinator.group_ids() if asked is None else sorted(set(asked))
    steps = _answer(broker, call, group_ids)
    answer: KawalGroupsResponse | WaitingSteps = in_slices(steps, len(group_ids), per_slice=GROUPS_PER_SLICE)
    return answer


def _answer(broker: Broker, call: Call[KawalGroupsRequest], group_ids: list[str]) -> WaitingSteps:
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
        yield None
    return (yield from _completed(broker, response))


def _consumer(row: ConsumerRow, fetched: Mapping[Member, int], wall_ms: int) -> ConsumerInfo:
    """Return the row; a fetch from a partition of its own is a poll."""
    values: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(ConsumerRow)}
    values["topics"] = list(row.topics)
    polled_ms = fetched.get((row.group_id, row.consumer_id), 0)
    if polled_ms > row.poll_ms:
        values |= {"poll_ms": polled_ms, "idle_ms": max(0, wall_ms - polled_ms)}
    return ConsumerInfo(**values)


def _subscription(broker: Broker, wall_ms: int, row: SubscriptionRow) -> SubscriptionInfo | None:
    """Return the row; without `vnode` and lag, if another node leads the partition."""
    topic = broker.catalogue.find(row.topic)
    if topic is None or row.partition >= topic.partition_count:
        return None
    found = _lag(broker, wall_ms, topic, row.partition, row.offset)
    return SubscriptionInfo(
        group_id=row.group_id,
        topic=row.topic,
        partition=row.partition,
        vnode=found.vnode,
        consumer_id=row.consumer_id,
        client_id=row.client_id,
        host=row.host,
        offset=NO_OFFSET if row.offset is None else row.offset,
        log_start=found.log_start,
        end_offset=found.end_offset,
        lag=found.lag,
        lag_ms=found.lag_ms,
        rows=row.rows,
        rows_since_ms=row.rows_since_ms,
    )


def _lag(broker: Broker, wall_ms: int, topic: Topic, index: int, offset: int | None) -> PlaceLag:
    partition = broker.topics.here(topic, index)
    if partition is None:
        return PlaceLag()
    lag = lag_of(partition, offset, wall_ms)
    return PlaceLag(
        vnode=partition.vnode.name,
        log_start=lag.log_start,
        end_offset=lag.end_offset,
        lag=lag.records,
        lag_ms=lag.age_ms,
    )


# --- partitions of other nodes ----------------------------------------------------------------------------


def _lags(broker: Broker, call: Call[KawalGroupsRequest]) -> Steps:
    """Answer another node, which coordinates groups, about partitions that this one leads."""
    wall_ms = broker.clock.wall_ms(call.received_ms)

    def judged(place: PlaceReached) -> PlaceLag:
        topic = broker.catalogue.find(place.topic)
        if topic is None or place.partition >= topic.partition_count:
            return PlaceLag()
        offset = None if place.offset == NO_OFFSET else place.offset
        return _lag(broker, wall_ms, topic, place.partition, offset)

    lags = yield from made_of(call.request.places, judged, per_step=ROWS_PER_STEP)
    return KawalGroupsResponse(consumers=[], subscriptions=[], lags=lags)


def _completed(broker: Broker, response: KawalGroupsResponse) -> WaitingSteps:
    """Have the leaders of partitions tell the lag there; rows of those that do not are left out."""
    rows = [info for info in response.subscriptions if not info.vnode]
    if not rows:
        return response
    by_leader: dict[int, list[SubscriptionInfo]] = {}
    for info in rows:
        topic = broker.catalogue.find(info.topic)
        if topic is not None and info.partition < topic.partition_count:
            by_leader.setdefault(broker.topics.leader(topic, info.partition)[0], []).append(info)
    for leader, chosen in by_leader.items():
        for part in chunks(chosen, per_step=PLACES_MAX):
            if leader in response.silent_nodes or not (yield from _told(broker, leader, part)):
                response.silent_nodes = sorted({*response.silent_nodes, leader})
    response.subscriptions = [info for info in response.subscriptions if info.vnode]
    return response


def _told(broker: Broker, leader: int, rows: Sequence[SubscriptionInfo]) -> Generator[Until, None, bool]:
    """Fill in what a leader tells of some rows; return whether it has answered."""
    places = [PlaceReached(topic=row.topic, partition=row.partition, offset=row.offset) for row in rows]
    answer: Latch[KawalGroupsResponse | None] = Latch()
    broker.nodes.peers.call(leader, KawalGroupsRequest(group_ids=[], places=places), 0, answer.set)
    found = yield from answer.wait(broker.timers, broker.clock.turn_ms + LAGS_WAIT_MS)
    if not found or found[0] is None:
        return False
    for row, lag in zip(rows, found[0].lags, strict=False):
        row.vnode, row.log_start, row.end_offset = lag.vnode, lag.log_start, lag.end_offset
        row.lag, row.lag_ms = lag.lag, lag.lag_ms
    return True
