"""Rows of members and progress, from Kawal and from any broker."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata, OffsetAndTimestamp

from console import group_rows
from console.group_rows import CONSUMER_COLUMNS, SUBSCRIPTION_COLUMNS, read_groups
from console.wire import NotKawal
from protocol.messages.kawal_groups import (
    ConsumerInfo,
    KawalGroupsRequest,
    KawalGroupsResponse,
    SubscriptionInfo,
)

CONSUMER = ConsumerInfo(
    group_id="g",
    consumer_id="c-1",
    client_id="c",
    host="/10.0.0.1",
    user="ANONYMOUS",
    status="ready",
    topics=["t"],
    up_ms=1_000,
    subscribe_ms=2_000,
    rebalance_ms=0,
    poll_ms=3_000,
    idle_ms=1_500,
    parameters="protocol:classic",
)
SUBSCRIPTION = SubscriptionInfo(
    group_id="g",
    topic="t",
    partition=1,
    vnode="default/vnode-0",
    consumer_id=None,
    client_id=None,
    host=None,
    offset=-1,
    log_start=2,
    end_offset=9,
    lag=7,
    lag_ms=-1,
    rows=0,
)


def test_rows_of_kawal_carry_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[KawalGroupsRequest] = []

    def answer(_: str, request: KawalGroupsRequest) -> KawalGroupsResponse:
        asked.append(request)
        return KawalGroupsResponse(consumers=[CONSUMER], subscriptions=[SUBSCRIPTION])

    monkeypatch.setattr(group_rows, "ask", answer)
    rows = read_groups("h:1", ["g"])
    assert asked[0].group_ids == ["g"]
    assert rows.complete
    [consumer], [subscription] = rows.consumers, rows.subscriptions
    assert tuple(consumer) == CONSUMER_COLUMNS
    assert tuple(subscription) == SUBSCRIPTION_COLUMNS
    assert (consumer["host"], consumer["up"], consumer["rebalanced"]) == (
        "10.0.0.1",
        "1970-01-01T00:00:01Z",
        None,
    )
    assert consumer["idle_seconds"] == 1.5
    assert (subscription["offset"], subscription["lag"], subscription["lag_seconds"]) == (None, 7, None)


class Admin:
    """An administrative client of a broker with one classic group."""

    def list_groups(self) -> list[dict[str, str]]:
        return [{"group_id": "g"}]

    def describe_groups(self, group_ids: list[str]) -> dict[str, Any]:
        member = {
            "member_id": "c-1",
            "client_id": "c",
            "client_host": "/10.0.0.1",
            "member_metadata": {"topics": ["t"]},
            "member_assignment": {"assigned_partitions": [{"topic": "t", "partitions": [0]}]},
        }
        return {group_id: {"group_state": "Stable", "members": [member]} for group_id in group_ids}

    def list_group_offsets(self, groups: dict[str, None]) -> dict[str, Any]:
        committed = {TopicPartition("t", 1): OffsetAndMetadata(4, "", -1)}
        return dict.fromkeys(groups, committed)

    def list_partition_offsets(self, asked: dict[Any, int]) -> dict[Any, Any]:
        return {place: OffsetAndTimestamp(9 if which == -1 else 2, -1, 0) for place, which in asked.items()}


def test_other_brokers_show_what_kafka_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_kawal(*_: object) -> None:
        raise NotKawal("no")

    monkeypatch.setattr(group_rows, "ask", not_kawal)
    monkeypatch.setattr(group_rows, "admin_client", lambda _: nullcontext(Admin()))
    rows = read_groups("h:1")
    assert not rows.complete
    assert [(row["consumer"], row["status"], row["idle_seconds"]) for row in rows.consumers] == [
        ("c-1", "ready", None)
    ]
    assert [
        (row["partition"], row["consumer"], row["offset"], row["lag"], row["lag_seconds"])
        for row in rows.subscriptions
    ] == [(0, "c-1", None, 7, None), (1, None, 4, 5, None)]
    assert all(tuple(row) == SUBSCRIPTION_COLUMNS for row in rows.subscriptions)
