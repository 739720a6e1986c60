"""The rows of the group commands: members and progress, from Kawal's own API, or from Kafka's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from console.client import admin_client, listen_for_trouble
from console.wire import NotKawal, ask
from protocol.messages.kawal_groups import ConsumerInfo, KawalGroupsRequest, SubscriptionInfo

Row = dict[str, Any]

CONSUMER_COLUMNS = (
    "group",
    "consumer",
    "client_id",
    "host",
    "user",
    "status",
    "topics",
    "up",
    "subscribed",
    "rebalanced",
    "polled",
    "idle_seconds",
    "parameters",
)
SUBSCRIPTION_COLUMNS = (
    "topic",
    "group",
    "partition",
    "vnode",
    "consumer",
    "client_id",
    "host",
    "offset",
    "log_start",
    "end",
    "lag",
    "lag_seconds",
    "rows",
    "rows_since",
)


@dataclass(slots=True)
class GroupRows:
    """The rows; `complete` is False when the broker is not Kawal, so that some columns are empty."""

    consumers: list[Row] = field(default_factory=list)
    subscriptions: list[Row] = field(default_factory=list)
    complete: bool = True
    silent: list[int] = field(default_factory=list)
    """Nodes that have not answered: their rows are missing."""


def read_groups(bootstrap: str, group_ids: list[str] | None = None) -> GroupRows:
    """Ask for these groups, or for all.  Raises: CommandError."""
    try:
        answer = ask(bootstrap, KawalGroupsRequest(group_ids=group_ids))
    except NotKawal:
        return _from_kafka(bootstrap, group_ids)
    return GroupRows(
        consumers=[_consumer(info) for info in answer.consumers],
        subscriptions=[_subscription(info) for info in answer.subscriptions],
        silent=answer.silent_nodes,
    )


def _consumer(info: ConsumerInfo) -> Row:
    return {
        "group": info.group_id,
        "consumer": info.consumer_id,
        "client_id": info.client_id,
        "host": info.host.removeprefix("/"),
        "user": info.user,
        "status": info.status,
        "topics": list(info.topics),
        "up": _moment(info.up_ms),
        "subscribed": _moment(info.subscribe_ms),
        "rebalanced": _moment(info.rebalance_ms),
        "polled": _moment(info.poll_ms),
        "idle_seconds": info.idle_ms / 1000,
        "parameters": info.parameters,
    }


def _subscription(info: SubscriptionInfo) -> Row:
    return {
        "topic": info.topic,
        "group": info.group_id,
        "partition": info.partition,
        "vnode": info.vnode,
        "consumer": info.consumer_id,
        "client_id": info.client_id,
        "host": info.host.removeprefix("/") if info.host else None,
        "offset": info.offset if info.offset >= 0 else None,
        "log_start": info.log_start,
        "end": info.end_offset,
        "lag": info.lag,
        "lag_seconds": info.lag_ms / 1000 if info.lag_ms >= 0 else None,
        "rows": info.rows,
        "rows_since": _moment(info.rows_since_ms),
    }


def _moment(time_ms: int) -> str | None:
    if not time_ms:
        return None
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


# --- other brokers ------------------------------------------------------------------------------------------


def _from_kafka(bootstrap: str, group_ids: list[str] | None) -> GroupRows:
    listen_for_trouble()
    with admin_client(bootstrap) as client:
        wanted = [group["group_id"] for group in client.list_groups()] if group_ids is None else group_ids
        rows = GroupRows(complete=False)
        for group_id in wanted:
            members = _members(client, group_id)
            rows.consumers += [_kafka_consumer(group_id, member) for member in members]
            rows.subscriptions += _kafka_subscriptions(client, group_id, members)
    return rows


def _members(client: Any, group_id: str) -> list[Row]:
    """Return the members of a classic group; kafka-python cannot describe groups of the consumer protocol."""
    found = client.describe_groups([group_id])[group_id]
    return [{**member, "state": found["group_state"]} for member in found["members"]]


def _kafka_consumer(group_id: str, member: Row) -> Row:
    status = "ready" if member["state"] == "Stable" else "rebalancing"
    return {
        **dict.fromkeys(CONSUMER_COLUMNS),
        "group": group_id,
        "consumer": member["member_id"],
        "client_id": member["client_id"],
        "host": member["client_host"].removeprefix("/"),
        "status": status,
        "topics": list((member["member_metadata"] or {}).get("topics", ())),
    }


def _kafka_subscriptions(client: Any, group_id: str, members: list[Row]) -> list[Row]:
    from kafka import TopicPartition

    owners = {
        TopicPartition(topic["topic"], index): member
        for member in members
        for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
        for index in topic["partitions"]
    }
    committed = client.list_group_offsets({group_id: None})[group_id]
    places = sorted({*owners, *committed})
    starts, ends = (_offsets(client, places, special) for special in (-2, -1))
    return [
        _kafka_subscription(
            group_id, place, committed.get(place), owners.get(place), starts[place], ends[place]
        )
        for place in places
    ]


def _offsets(client: Any, places: Iterable[Any], special: int) -> Row:
    asked = dict.fromkeys(places, special)
    return {place: found.offset for place, found in client.list_partition_offsets(asked).items()}


def _kafka_subscription(
    group_id: str, place: Any, committed: Any, owner: Row | None, start: int, end: int
) -> Row:
    offset = committed.offset if committed is not None and committed.offset >= 0 else None
    position = start if offset is None else min(max(offset, start), end)
    return {
        **dict.fromkeys(SUBSCRIPTION_COLUMNS),
        "topic": place.topic,
        "group": group_id,
        "partition": place.partition,
        "consumer": owner["member_id"] if owner else None,
        "client_id": owner["client_id"] if owner else None,
        "host": owner["client_host"].removeprefix("/") if owner else None,
        "offset": offset,
        "log_start": start,
        "end": end,
        "lag": end - position,
    }
