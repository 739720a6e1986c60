"""An important group that reads a view keeps what it has not read of the view's sources."""

from __future__ import annotations

import pytest

from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.groups import beating, commit
from tests.broker.kit import batch, create, offset_of, send
from tests.broker.upkeep.holds import INTERVAL_MS, hold
from tests.broker.views import PLACE, origin, read_all

SETTINGS = {
    "log_retention_check_interval_ms": INTERVAL_MS,
    "kawal_vnodes": 1,
    "kawal_rebalance_interval_ms": 0,
}

VIEWS = {
    "query": {"kawal.sql": "SELECT v FROM t WHERE v > 100"},
    "stable": {"kawal.sql": "STABLE t"},
    "unfit": {"kawal.sql": "UNFIT t"},
    "alias": {"kawal.alias.of": "t"},
    "window": {"kawal.alias.of": "t", "kawal.from": "offset 1"},
    "changes": {"kawal.sql": "WITH META AS STABLE t"},
    "all": {"kawal.sql": "DATABASE d"},
}
BY_VERSION = ("changes", "all")


@pytest.fixture
def client(gateway: Gateway) -> Client:
    """Return a client, after making a topic that keeps records for 20 s, with six of them, among others."""
    client = gateway.client()
    create_database(client, "d", vnodes="2")
    create(
        client, "t", 3, **{PLACE: "d", "kawal.columns": "v int", "retention.ms": "20000", "segment.ms": "1"}
    )
    create(client, "other", 3, **{PLACE: "d"})
    for name, configs in VIEWS.items():
        create(client, name, -1, **configs)
    for number in range(6):
        for partition in range(3):
            send(client, "other", batch(b"o"), partition=partition)
            value = b'{"v":%d}' % number
            send(client, "t", batch(value, timestamp_ms=START_MS + 1000 * number), partition=partition)
    return client


def pass_time(gateway: Gateway, duration_ms: int = 60_000) -> None:
    gateway.advance(duration_ms)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)
    gateway.advance(INTERVAL_MS)


def starts(client: Client, name: str = "t") -> list[int]:
    return [int(offset_of(client, name, -2, partition).offset) for partition in range(3)]


def place_in(client: Client, view: str, partition: int, offset: int) -> tuple[int, int]:
    """Return the partition and the offset of a view at a record of t."""
    if view not in BY_VERSION:
        return partition, offset
    for index in range(2 if view == "all" else 3):
        for record in read_all(client, view, index):
            if "kawal.kind" not in dict(record.headers) and origin(record) == (
                b"t",
                b"%d" % partition,
                b"%d" % offset,
            ):
                return index, record.offset
    raise AssertionError("the record is not there")


@pytest.mark.parametrize("name", VIEWS)
def test_an_important_group_keeps_what_it_has_not_read_through_a_view(
    gateway: Gateway, client: Client, name: str
) -> None:
    hold(client, important="true")
    # Partitions 0 and 2 lie on the same vnode: a version is between the same records of both.
    for partition, offset in ((2, 3), (0, 2), (1, 4)):
        index, at = place_in(client, name, partition, offset)
        commit(client, "g", (name, index, at))
    pass_time(gateway)
    assert starts(client) == [2, 4, 2 if name == "all" else 3]
    assert gateway.broker.retention.held_partitions == 3
    for index in range(2 if name == "all" else 3):
        end = int(offset_of(client, name, -1, index).offset)
        commit(client, "g", (name, index, end))
    pass_time(gateway)
    assert starts(client) == [6, 6, 6]
    assert gateway.broker.retention.held_partitions == 0


@pytest.mark.parametrize("name", VIEWS)
def test_a_group_that_subscribes_to_a_view_and_has_committed_nothing_keeps_all_of_it(
    gateway: Gateway, client: Client, name: str
) -> None:
    hold(client, important="true")
    client.call(beating("g", "m", topics=[name]), 1)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + 60_000)
    gateway.advance(INTERVAL_MS)
    assert starts(client) == ([1, 1, 1] if name == "window" else [0, 0, 0])


@pytest.mark.parametrize("name", VIEWS)
def test_a_source_that_is_named_is_kept_until_the_group_has_read_it_through_a_view(
    gateway: Gateway, client: Client, name: str
) -> None:
    hold(client, important="true", important_topics="t")
    pass_time(gateway)
    assert starts(client) == [0, 0, 0]
    for index in range(2 if name == "all" else 3):
        commit(client, "g", (name, index, int(offset_of(client, name, -1, index).offset)))
    pass_time(gateway)
    assert starts(client) == [6, 6, 6]


def test_a_view_can_be_named_before_the_group_has_ever_run(gateway: Gateway, client: Client) -> None:
    hold(client, important="true", important_topics="query")
    pass_time(gateway)
    assert starts(client) == [0, 0, 0]


def test_a_group_that_has_read_a_view_that_has_ended_keeps_nothing(gateway: Gateway, client: Client) -> None:
    create(client, "first", -1, **{"kawal.alias.of": "t", "kawal.to": "offset 3"})
    hold(client, important="true")
    commit(client, "g", *(("first", partition, 2 + (partition > 0)) for partition in range(3)))
    pass_time(gateway)
    assert starts(client) == [2, 6, 6]


def test_the_slowest_of_the_ways_in_which_a_group_reads_a_topic_decides(
    gateway: Gateway, client: Client
) -> None:
    hold(client, important="true", important_topics="t")
    commit(client, "g", ("t", 0, 1), ("query", 0, 5), ("t", 1, 5), ("stable", 1, 2), ("query", 2, 3))
    pass_time(gateway)
    assert starts(client) == [0, 0, 0]
    commit(client, "g", ("stable", 0, 4), ("query", 1, 4), ("stable", 2, 4), ("t", 2, 4))
    pass_time(gateway)
    assert starts(client) == [1, 2, 3]


def test_the_size_that_is_kept_for_a_view_is_bounded(gateway: Gateway, client: Client) -> None:
    hold(client, important="true", important_max_bytes="200")
    commit(client, "g", ("query", 0, 1))
    pass_time(gateway)
    assert starts(client)[0] in (4, 5)


def test_a_hold_through_a_database_lasts_over_a_restart(gateway: Gateway, client: Client) -> None:
    hold(client, important="true")
    index, at = place_in(client, "all", 1, 4)
    commit(client, "g", ("all", index, at))
    gateway.crash()
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + 600_000)
    gateway.advance(INTERVAL_MS)
    assert starts(gateway.client())[1] == 4
