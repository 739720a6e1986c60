"""`kawal groups`, `consumers` and `subscriptions` against a live broker, with members of both protocols."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.groups import fill
from compat_tests.test_console import kawal
from compat_tests.waiting import eventually


def rows(broker: Broker, command: str, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kawal(broker, command, "--json", *arguments).stdout)
    return found


def member(broker: Broker, group: str, topic: str, protocol: str) -> Any:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "group.protocol": protocol}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topic])
    return consumer


def read(consumer: Any, count: int) -> None:
    def done() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            seen.append(message)
        return len(seen) >= count

    seen: list[Any] = []
    eventually(done, waiting_for=f"{count} records")
    consumer.commit(asynchronous=False)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_and_progress_are_shown(broker: Broker, make_topic: MakeTopic, protocol: str) -> None:
    topic = make_topic(partitions=2)
    group = f"{topic}-{protocol}"
    fill(broker, topic, partitions=2, count=3)
    with ExitStack() as stack:
        consumer = stack.enter_context(closing(member(broker, group, topic, protocol)))
        read(consumer, 6)
        fill(broker, topic, partitions=1, count=1)
        [listed] = [row for row in rows(broker, "groups list") if row["group"] == group]
        assert (listed["type"], listed["state"]) == (protocol, "Stable")
        shown = rows(broker, "subscriptions", "--group", group)
        assert [(row["partition"], row["offset"], row["end"], row["lag"]) for row in shown] == [
            (0, 3, 4, 1),
            (1, 3, 3, 0),
        ]
        if broker.kind == "kawal" or protocol == "classic":
            [consumer_row] = rows(broker, "consumers", "--group", group)
            assert (consumer_row["status"], consumer_row["topics"]) == ("ready", [topic])
            assert {row["consumer"] for row in shown} == {consumer_row["consumer"]}
    text = kawal(broker, "groups describe", group).stdout.decode()
    assert f"group {group}   type {protocol}   state Empty" in text


def test_offsets_are_reset_and_groups_deleted(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    fill(broker, topic, partitions=2, count=5)
    reset = ("--topic", topic, "--to", "-2")
    shown = rows(broker, "groups reset-offsets", topic, *reset)
    assert [(row["current"], row["new"]) for row in shown] == [(None, 3), (None, 3)]
    assert rows(broker, "subscriptions", "--group", topic) == []
    kawal(broker, "groups reset-offsets", topic, *reset, "--execute")
    kawal(broker, "groups reset-offsets", topic, "--all-topics", "--shift-by", "-2", "--execute")
    assert [row["offset"] for row in rows(broker, "subscriptions", "--group", topic)] == [1, 1]
    kawal(broker, "groups delete", topic, "--topic", f"{topic}:0")
    left = rows(broker, "subscriptions", "--group", topic)
    assert [row["partition"] for row in left if row["offset"] is not None] == [1]
    kawal(broker, "groups delete", topic)
    assert topic not in [row["group"] for row in rows(broker, "groups list")]


def test_a_group_with_members_is_neither_reset_nor_deleted(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(broker, topic, partitions=1, count=1)
    with closing(member(broker, topic, topic, "classic")) as consumer:
        read(consumer, 1)
        refused = kawal(
            broker, "groups reset-offsets", topic, "--topic", topic, "--to", "earliest", "--execute", code=1
        )
        assert b"is Stable: stop its consumers first" in refused.stderr
        refused = kawal(broker, "groups delete", topic, code=1)
        assert topic.encode() in refused.stderr
