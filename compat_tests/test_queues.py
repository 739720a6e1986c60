"""`kawal queues` against live brokers, with librdkafka's ShareConsumer and Kafka's console share consumer."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from broker.server.logs import BURST
from compat_tests.broker import Broker
from compat_tests.configs import BROKER, SET, Line, incremental
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.java import run_java
from compat_tests.overload.figures import TOOK_LONG, Turn, long_turns
from compat_tests.queue_flood import GROUP, PARTITIONS, flood
from compat_tests.test_console import kawal, sentence
from compat_tests.test_share_groups import (
    TOOLS,
    configure,
    earliest,
    numbered,
    poll,
    share_consumer,
    values,
)
from compat_tests.times import yardstick_seconds
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client

TURN_MS = 10
YARDSTICKS_OF_A_TURN = 0.1
"""The processor time that a turn of the event loop may take, the larger of both: 30 ms where the yardstick
takes 0.3 s. In one piece the work takes some hundreds."""

PRIVATE = pytest.mark.only_kawal(reason="asks for what Kafka's APIs do not have")


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def rows(broker: Broker, command: str, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kawal(broker, f"queues {command}", *arguments, "--json").stdout)
    return found


def described(broker: Broker, group: str) -> dict[str, Any]:
    (row,) = rows(broker, "describe", group)
    return row


def peeked(broker: Broker, group: str, *arguments: str) -> list[dict[str, Any]]:
    lines = kawal(broker, "queues peek", group, *arguments).stdout.splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def jobs(broker: Broker, make_topic: MakeTopic) -> str:
    """Return the name of a topic with 20 records, and of the group that reads it."""
    topic = make_topic()
    earliest(broker, topic)
    produce(make_producer(broker), topic, numbered(20))
    return topic


def test_groups_are_listed_and_described_by_kafkas_apis(broker: Broker, jobs: str) -> None:
    with share_consumer(broker, jobs, jobs, explicit=True) as consumer:
        for message in poll(consumer, 20)[:5]:
            consumer.acknowledge(message)
        consumer.commit_sync()
        (listed,) = [row for row in rows(broker, "list") if row["group"] == jobs]
        assert (listed["state"], listed["members"], listed["topics"]) == ("Stable", 1, [jobs])
        row = described(broker, jobs)
        assert (row["group"], row["state"], row["assignor"]) == (jobs, "Stable", "simple")
        (member,) = row["members"]
        assert (member["topics"], member["assigned"]) == ([jobs], [f"{jobs}-0"])
    text = kawal(broker, "queues describe", jobs).stdout.decode()
    assert f"group {jobs}   state Empty   assignor simple" in text


@PRIVATE
def test_members_and_records_are_shown_as_they_are(broker: Broker, jobs: str) -> None:
    with share_consumer(broker, jobs, jobs, explicit=True) as consumer:
        messages = poll(consumer, 20)
        for message in messages[:5]:
            consumer.acknowledge(message)
        consumer.commit_sync()
        row = described(broker, jobs)
        (partition,) = row["partitions"]
        shown = {name: partition[name] for name in ("start", "end", "acquired", "available", "backlog")}
        assert shown == {"start": 5, "end": 20, "acquired": 15, "available": 0, "backlog": 15}
        assert partition["deliveries"] == {"1": 15}
        (member,) = row["members"]
        assert (member["status"], member["pending"]) == ("Running", 15)
        assert member["slots"] == member["window"] - 15
        assert (row["counters"]["acquired"], row["counters"]["accepted"]) == (20, 5)
        (listed,) = [found for found in rows(broker, "list") if found["group"] == jobs]
        assert (listed["under_way"], listed["backlog"]) == (15, 15)
        assert listed["oldest_seconds"] >= 0
        states = [
            (found["offset"], found["state"], found["member"]) for found in peeked(broker, jobs, "-n", "3")
        ]
        assert states == [(offset, "acquired", member["member"]) for offset in (5, 6, 7)]
    # It has left: what it had is available again.
    row = eventually(
        lambda: found if (found := described(broker, jobs))["partitions"][0]["available"] == 15 else None,
        waiting_for="the records to be given back",
        within_seconds=30,  # its session and its locks would end later
    )
    assert [member["status"] for member in row["members"]] == ["Exit"]
    assert row["partitions"][0]["released"] == 15


@PRIVATE
def test_records_are_peeked_and_are_then_delivered_for_the_first_time(broker: Broker, jobs: str) -> None:
    with share_consumer(broker, jobs, jobs):
        eventually(lambda: jobs in {row["group"] for row in rows(broker, "list")}, waiting_for="the group")
    rows(broker, "reset", jobs, "--to", "earliest", "--yes")
    found = peeked(broker, jobs, "-n", "100")
    assert [(row["offset"], row["value"], row["state"]) for row in found] == [
        (offset, f"{offset}", "available") for offset in range(20)
    ]
    with share_consumer(broker, jobs, jobs, explicit=True) as consumer:
        messages = poll(consumer, 20)
        assert {message.delivery_count() for message in messages} == {1}


@PRIVATE
def test_records_of_a_member_that_hangs_go_to_another_one(broker: Broker, jobs: str) -> None:
    with ExitStack() as stack:
        hanging = stack.enter_context(share_consumer(broker, jobs, jobs, explicit=True))
        poll(hanging, 20)
        (member,) = described(broker, jobs)["members"]
        (one,) = rows(broker, "release", jobs, "--topic", jobs, "--partition", "0", "--offset", "7")
        assert one["records"] == 1
        (rest,) = rows(broker, "release", jobs, "--member", member["member"])
        assert rest["records"] == 19
        other = stack.enter_context(share_consumer(broker, jobs, jobs, explicit=True))
        messages = poll(other, 20)
        assert sorted(values(messages)) == sorted(numbered(20))
        assert {message.delivery_count() for message in messages} == {2}
        for message in messages:
            other.acknowledge(message)
        assert set(other.commit_sync().values()) == {None}


@PRIVATE
def test_a_purge_of_a_live_queue_leaves_only_what_comes_later(broker: Broker, jobs: str) -> None:
    with share_consumer(broker, jobs, jobs, explicit=True) as consumer:
        messages = poll(consumer, 20)
        (preview,) = rows(broker, "purge", jobs)
        assert (preview["under_way"], preview["records"]) == (20, 20)
        assert described(broker, jobs)["partitions"][0]["acquired"] == 20
        (purged,) = rows(broker, "purge", jobs, "--yes")
        assert purged["records"] == 20
        for message in messages:
            consumer.acknowledge(message)
        assert set(consumer.commit_sync().values()) == {None}
        produce(make_producer(broker), jobs, [b"later"])
        assert values(poll(consumer, 1)) == [b"later"]
        assert described(broker, jobs)["counters"]["archived"] == 20


def test_a_group_is_reset_to_offsets_ends_and_times(broker: Broker, jobs: str) -> None:
    with share_consumer(broker, jobs, jobs) as consumer:
        poll(consumer, 20)
        consumer.commit_sync()
        refused = kawal(broker, "queues reset", jobs, "--to", "earliest", "--yes", code=1)
        assert f"share group {jobs!r}: " in sentence(refused)
    for position, new in (("latest", 20), ("-3", 17), ("@0", 0), ("2099-01-01T00:00:00Z", 20), ("5", 5)):
        (row,) = rows(broker, "reset", jobs, "--to", position)
        assert row["new"] == new, position
    rows(broker, "reset", jobs, "--to", "5", "--yes")
    assert described(broker, jobs)["partitions"][0]["start"] == 5
    printed = run_java(
        f"{TOOLS}.consumer.ConsoleShareConsumer", "--bootstrap-server", broker.bootstrap, "--topic", jobs,
        "--group", jobs, "--max-messages", "15", "--timeout-ms", "60000",
    ).stdout.splitlines()  # fmt: skip
    assert printed == [f"{number}" for number in range(5, 20)]


def test_what_does_not_exist_is_named_in_one_sentence(broker: Broker) -> None:
    ended = kawal(broker, "queues describe", "no-such-group", code=1)
    assert "share group 'no-such-group'" in sentence(ended)
    ended = kawal(broker, "queues reset", "no-such-group", "--to", "latest", code=1)
    assert "name topics with --topic" in sentence(ended)


@pytest.mark.differs(reason="only Kawal knows which records are under way")
def test_kafka_is_not_asked_for_what_it_does_not_know(broker: Broker, jobs: str) -> None:
    with share_consumer(broker, jobs, jobs) as consumer:
        poll(consumer, 20)
        code = 0 if broker.kind == "kawal" else 1
        ended = kawal(broker, "queues release", jobs, code=code)
        if code:
            assert "it is not a Kawal server" in sentence(ended)
        assert (described(broker, jobs)["counters"] is None) == bool(code)


@PRIVATE
def test_a_group_with_very_many_ranges_is_shown_without_stopping_others(start_broker: StartBroker) -> None:
    limit_ms = max(TURN_MS, round(1000 * YARDSTICKS_OF_A_TURN * yardstick_seconds()))
    # Of many long turns the log has the first few alone: there is none before those that are judged.
    broker = start_broker(
        group_share_max_partition_max_record_locks="10000",
        kawal_share_ranges_max_bytes=str(1 << 30),
        kawal_loop_turn_log_ms="60000",
    )
    configure(
        broker,
        GROUP,
        share_auto_offset_reset="earliest",
        share_partition_max_record_locks="10000",
        share_record_lock_duration_ms="60000",
    )
    with flood(broker) as records:
        change: tuple[int, str, list[Line]] = (BROKER, "1", [("kawal.loop.turn.log.ms", SET, f"{limit_ms}")])
        with raw_client(broker) as raw:
            assert incremental(raw, change) == [(0, None)]
        (listed,) = rows(broker, "list")
        assert listed["under_way"] == records
        shown = described(broker, GROUP)
        assert [partition["acquired"] for partition in shown["partitions"]] == [
            records // PARTITIONS
        ] * PARTITIONS
        assert len(peeked(broker, GROUP, "-n", "2")) == 2 * PARTITIONS
        changed = rows(broker, "release", GROUP)
        assert sum(partition["records"] for partition in changed) == records
    log = (broker.directory / "broker.log").read_text()
    turns = long_turns(log)
    # A turn that the machine has stopped is logged, too, whatever processor it took.
    assert [turn for turn in turns if turn.cpu_ms >= limit_ms and shows_a_queue(turn)] == []
    assert len(turns) == log.count(TOOK_LONG) < BURST, "some may have been left out"


def shows_a_queue(turn: Turn) -> bool:
    names = ("kawal_queue", "describe_share_group_offsets")
    return turn.work.startswith(names) or turn.piece.startswith(names)
