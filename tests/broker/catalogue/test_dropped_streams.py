"""The streams of deleted topics are dropped some at a time, and a start goes on with what a stop leaves."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue import dropped_streams
from broker.catalogue.dropped_streams import STREAMS_AT_ONCE, STREAMS_PER_STEP
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.databases import create_database, drop_database
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import produce
from tests.broker.kit import batch, create, send
from wal.memory_faults import failing

WIDE = 3 * STREAMS_AT_ONCE


def begin(client: Client, *names: str) -> None:
    """Delete topics, and run disk work until that is durable, but no long work."""
    client.send(DeleteTopicsRequest(topic_names=list(names), timeout_ms=1_000), 5)
    while client.gateway.run_jobs():
        continue


def streams(gateway: Gateway) -> int:
    return sum(len(list(vnode.log.streams())) for vnode in gateway.broker.vnodes["default"])


def wide(gateway: Gateway, name: str = "t", partitions: int = WIDE) -> None:
    create(gateway.client(), name, partitions)
    for index in range(partitions):
        send(gateway.client(), name, batch(b"a"), index)


def is_dropped(gateway: Gateway) -> int:
    states = [vnode.log._state.streams for vnode in gateway.broker.vnodes["default"]]
    return sum(stream.dropped for found in states for stream in found.values())


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(kawal_vnodes=2)


def test_the_streams_of_a_wide_topic_are_dropped_in_steps(gateway: Gateway) -> None:
    wide(gateway)
    assert streams(gateway) == WIDE
    begin(gateway.client(), "t")
    waiting = gateway.broker.topics.dropped
    assert (waiting.has_some, is_dropped(gateway)) == (True, 0)
    while not is_dropped(gateway):
        gateway.broker.scheduler.run()
    assert is_dropped(gateway) <= STREAMS_PER_STEP + 1
    gateway.advance(5_000)
    assert (streams(gateway), gateway.broker.catalogue.deleted_streams) == (0, set())
    assert waiting.has_some is False


def test_small_topics_that_are_deleted_together_share_what_one_moment_may_drop(gateway: Gateway) -> None:
    names = [f"t{number}" for number in range(4)]
    for name in names:
        wide(gateway, name, STREAMS_AT_ONCE // 2)
    begin(gateway.client(), *names)
    assert streams(gateway) + is_dropped(gateway) >= STREAMS_AT_ONCE
    assert gateway.broker.topics.dropped.has_some
    gateway.advance(5_000)
    assert streams(gateway) == 0


def test_a_crash_in_between_is_made_up_for_at_the_start(gateway: Gateway) -> None:
    wide(gateway)
    begin(gateway.client(), "t")
    gateway.broker.scheduler.run()
    gateway.crash()
    gateway.settle()
    gateway.advance(400_000)
    assert streams(gateway) == 0
    assert not gateway.broker.catalogue.deleted_streams


def test_what_one_sync_makes_a_log_forget_is_bounded(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide(gateway)
    monkeypatch.setattr(dropped_streams, "WEIGHT_UNSYNCED", 40)
    begin(gateway.client(), "t")
    for _ in range(100):
        gateway.broker.scheduler.run()
    assert is_dropped(gateway) <= 2 * (40 + STREAMS_PER_STEP), "the rest waits until these are durable"
    gateway.advance(5_000)
    assert streams(gateway) == 0


def test_streams_with_many_producers_weigh_more(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    create(gateway.client(), "t", WIDE)
    for index in range(WIDE):
        for producer_id in range(2):
            produce(
                gateway.client(),
                "t",
                partition=index,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
            )
    monkeypatch.setattr(dropped_streams, "WEIGHT_UNSYNCED", 90)
    monkeypatch.setattr(dropped_streams, "PRODUCERS_PER_STREAM", 1)
    begin(gateway.client(), "t")
    for _ in range(100):
        gateway.broker.scheduler.run()
    assert is_dropped(gateway) <= 2 * (30 + STREAMS_PER_STEP)
    gateway.advance(5_000)
    assert streams(gateway) == 0


def test_a_log_that_fails_in_between_drops_the_rest_later(gateway: Gateway) -> None:
    wide(gateway)
    begin(gateway.client(), "t")
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.advance(200_000)
    assert streams(gateway) == 0


def test_a_dropped_database_takes_what_is_left_with_it(gateway: Gateway) -> None:
    create_database(gateway.client(), "db")
    create(gateway.client(), "t", WIDE, kawal_database="db")
    for index in range(WIDE):
        send(gateway.client(), "t", batch(b"a"), index)
    begin(gateway.client(), "t")
    assert drop_database(gateway.client(), "db").error_code == 0
    gateway.advance(5_000)
    assert not gateway.broker.catalogue.deleted_streams
    assert not gateway.broker.topics.dropped.has_some
