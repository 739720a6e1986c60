"""Retention keeps the records that important groups have not committed, within their bounds."""

from __future__ import annotations

import pytest

from broker.upkeep.retention import LOADING_PAUSE_MS
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.groups import beating, commit
from tests.broker.kit import batch, create, offset_of, send
from tests.broker.upkeep.holds import INTERVAL_MS, alter, hold

SETTINGS = {
    "log_retention_check_interval_ms": INTERVAL_MS,
    "kawal_vnodes": 1,
    "kawal_rebalance_interval_ms": 0,
}


@pytest.fixture
def client(gateway: Gateway) -> Client:
    """Return a client, after making a topic that keeps records for 20 s, with six records a second apart."""
    client = gateway.client()
    create(client, "t", retention_ms="20000", segment_ms="1")
    for number in range(6):
        send(client, "t", batch(b"v" * 1000, timestamp_ms=START_MS + 1000 * number))
    return client


def pass_time(gateway: Gateway, duration_ms: int = 60_000) -> None:
    gateway.advance(duration_ms)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)
    gateway.advance(INTERVAL_MS)


def start_of(client: Client) -> int:
    return int(offset_of(client, "t", -2).offset)


def test_without_a_hold_progress_does_not_matter(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 2))
    pass_time(gateway)
    assert start_of(client) == 6
    assert gateway.broker.retention.held_partitions == 0


def test_an_important_group_keeps_what_it_has_not_committed(gateway: Gateway, client: Client) -> None:
    hold(client, important="true")
    commit(client, "g", ("t", 0, 2))
    pass_time(gateway)
    assert start_of(client) == 2
    assert gateway.broker.retention.held_partitions == 1
    commit(client, "g", ("t", 0, 5))
    pass_time(gateway)
    assert start_of(client) == 5
    commit(client, "g", ("t", 0, 6))
    pass_time(gateway)
    assert start_of(client) == 6
    assert gateway.broker.retention.held_partitions == 0


def test_the_slowest_of_several_groups_decides(gateway: Gateway, client: Client) -> None:
    for group, offset in (("fast", 5), ("slow", 3)):
        hold(client, group, important="true")
        commit(client, group, ("t", 0, offset))
    pass_time(gateway)
    assert start_of(client) == 3


def test_a_group_that_has_committed_nothing_keeps_all_it_subscribes_to(
    gateway: Gateway, client: Client
) -> None:
    hold(client, important="true")
    client.call(beating("g", "m", topics=["t"]), 1)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + 60_000)
    gateway.advance(INTERVAL_MS)
    assert start_of(client) == 0


def test_topics_can_be_named_before_the_group_has_ever_run(gateway: Gateway, client: Client) -> None:
    hold(client, important="true", important_topics="other,t")
    pass_time(gateway)
    assert start_of(client) == 0


def test_the_size_that_is_kept_for_a_group_is_bounded(gateway: Gateway, client: Client) -> None:
    hold(client, important="true", important_max_bytes="2500")
    commit(client, "g", ("t", 0, 1))
    pass_time(gateway)
    assert start_of(client) == 4


def test_availability_keeps_unread_records_up_to_their_age(gateway: Gateway, client: Client) -> None:
    hold(client, availability_ms="68000")
    commit(client, "g", ("t", 0, 1))
    pass_time(gateway, 50_000)
    assert start_of(client) == 1
    pass_time(gateway, 1)
    assert start_of(client) == 2


def test_a_hold_ends_when_it_is_taken_back(gateway: Gateway, client: Client) -> None:
    hold(client, important="true")
    commit(client, "g", ("t", 0, 2))
    pass_time(gateway)
    hold(client, important="false")
    pass_time(gateway)
    assert start_of(client) == 6


def test_a_hold_lasts_over_a_restart(gateway: Gateway, client: Client) -> None:
    hold(client, important="true")
    commit(client, "g", ("t", 0, 2))
    gateway.crash()
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + 600_000)
    gateway.advance(INTERVAL_MS)
    assert gateway.partition("t").log_start == 2


def test_nothing_is_deleted_while_offsets_are_being_loaded(gateway: Gateway, client: Client) -> None:
    hold(client, important="true")
    commit(client, "g", ("t", 0, 2))
    groups = gateway.broker.groups
    with groups.step(gateway.now_ms) as coordinator:
        coordinator.unload([coordinator.partition_of("g")], gateway.now_ms)
    assert not groups.is_loaded
    pass_time(gateway)
    assert start_of(client) == 0
    with groups.step(gateway.now_ms) as coordinator:
        coordinator.loaded([coordinator.partition_of("g")], gateway.now_ms)
    gateway.advance(LOADING_PAUSE_MS)
    assert start_of(client) == 6


def test_important_and_available_exclude_each_other(client: Client) -> None:
    assert alter(client, "g", important="true", availability_ms="5") == [40]
