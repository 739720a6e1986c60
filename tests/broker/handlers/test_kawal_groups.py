"""KawalGroups: members and progress of groups, with log ends and lag."""

from __future__ import annotations

import pytest

from broker.handlers.kawal_groups import GROUPS_PER_SLICE
from broker.view_topics.route_index import TOGETHER_MIN
from protocol.messages.kawal_groups import KawalGroupsRequest, KawalGroupsResponse
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.groups import beating, commit, join
from tests.broker.kit import batch, create, fetch, send
from tests.broker.views import read_all

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}


@pytest.fixture
def client(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a", b"b", b"c"))
    return client


def ask(client: Client, *group_ids: str) -> KawalGroupsResponse:
    answer = client.call(KawalGroupsRequest(group_ids=list(group_ids) or None), 0)
    assert isinstance(answer, KawalGroupsResponse)
    assert answer.error_code == 0
    return answer


def test_members_of_both_protocols_are_shown(client: Client) -> None:
    join(client, "classic")
    client.call(beating("consumer", "m", topics=["t"]), 1)
    found = {consumer.group_id: consumer for consumer in ask(client).consumers}
    assert set(found) == {"classic", "consumer"}
    assert found["consumer"].consumer_id == "m"
    assert found["classic"].topics == found["consumer"].topics == ["t"]
    assert all(consumer.up_ms > 0 and consumer.subscribe_ms > 0 for consumer in found.values())


def test_progress_is_shown_with_log_ends_and_lag(client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    first, second = ask(client, "g").subscriptions
    assert (first.topic, first.partition, first.vnode) == ("t", 0, "default/vnode-0")
    assert (first.offset, first.log_start, first.end_offset, first.lag) == (1, 0, 3, 2)
    assert first.lag_ms >= 0
    assert (second.offset, second.end_offset, second.lag, second.lag_ms) == (-1, 0, 0, 0)
    assert first.consumer_id is None


def test_only_groups_that_were_named_are_shown(client: Client) -> None:
    commit(client, "a", ("t", 0, 1))
    commit(client, "b", ("t", 0, 2))
    assert {row.group_id for row in ask(client, "b", "b", "no such group").subscriptions} == {"b"}


def test_more_groups_than_a_slice_takes_are_all_shown(client: Client) -> None:
    names = [f"g{number:03}" for number in range(3 * GROUPS_PER_SLICE)]
    for name in names:
        commit(client, name, ("t", 1, 0))
    shown = ask(client).subscriptions
    assert [row.group_id for row in shown if row.partition == 1] == names


def told(client: Client, member: str = "m") -> tuple[int, int]:
    """Return when a member has polled last, and how long it has been idle."""
    (found,) = (row for row in ask(client, "g").consumers if row.consumer_id == member)
    return found.poll_ms - START_MS, found.idle_ms


def test_a_fetch_from_a_partition_of_a_member_is_a_poll_and_heartbeats_are_not(
    gateway: Gateway, client: Client
) -> None:
    consumer = gateway.client()
    joined = consumer.call(beating("g", "m", topics=["t"]), 1)
    began = told(client)[0]
    gateway.advance(5_000)
    consumer.call(beating("g", "m", joined.member_epoch), 1)
    assert told(client) == (began, 5_000)
    fetch(consumer, "t", 0)
    assert told(client) == (began + 5_000, 0)
    gateway.advance(3_000)
    assert told(client) == (began + 5_000, 3_000)


def test_fetches_of_others_and_from_other_partitions_are_no_polls_of_a_member(
    gateway: Gateway, client: Client
) -> None:
    create(client, "other")
    first, second = gateway.client(), gateway.client()
    joined = first.call(beating("g", "a", topics=["t"]), 1)
    second.call(beating("g", "b", topics=["t"]), 1)
    for _ in range(4):
        gateway.advance(2_000)
        found = first.call(beating("g", "a", joined.member_epoch, owned={}), 1)
        joined = found if found.member_epoch else joined
        second.call(beating("g", "b", joined.member_epoch, owned={}), 1)
    owners = {row.consumer_id: row.partition for row in ask(client, "g").subscriptions}
    assert set(owners) == {"a", "b"}
    before = told(client, "a")[0], told(client, "b")[0]
    fetch(first, "other", 0)
    fetch(first, "t", 0, owners["a"])
    polled = told(client, "a")[0], told(client, "b")[0]
    assert polled[0] > before[0]
    assert polled[1] == before[1]


def test_rows_count_what_a_view_has_shown_and_say_since_when(gateway: Gateway, client: Client) -> None:
    create(client, "v", -1, kawal_sql="SELECT _offset FROM t WHERE _offset % 3 = 1")
    commit(client, "g", ("v", 0, 0), ("t", 0, 0))
    for _ in range(5):
        send(client, "t", batch(b"a", b"b", b"c"))
    records = read_all(client, "v")
    assert len(records) == 6
    commit(client, "g", ("v", 0, 18), ("t", 0, 18))
    rows = {row.topic: row for row in ask(client, "g").subscriptions if not row.partition}
    assert (rows["v"].rows, rows["t"].rows) == (6, 18)
    since = rows["v"].rows_since_ms
    assert since > 0
    commit(client, "g", ("v", 0, 4), ("t", 0, 4))
    commit(client, "g", ("v", 0, 5), ("t", 0, 5))
    rows = {row.topic: row for row in ask(client, "g").subscriptions if not row.partition}
    assert (rows["v"].rows, rows["t"].rows) == (7, 19), "they never decrease, and count what is read again"
    gateway.restart()
    gateway.advance(10)
    client = gateway.client()
    assert {(row.rows, row.rows_since_ms) for row in ask(client, "g").subscriptions} == {(0, 0)}
    commit(client, "g", ("t", 0, 7))
    (row,) = (row for row in ask(client, "g").subscriptions if row.topic == "t" and not row.partition)
    assert (row.rows, row.rows_since_ms > since) == (2, True)


@pytest.mark.parametrize("shared", [False, True])
def test_the_lag_of_a_view_counts_what_it_shows_and_what_is_not_known_yet(
    gateway: Gateway, client: Client, shared: bool
) -> None:
    for number in range(TOGETHER_MIN if shared else 1):
        create(
            client, f"v{number}", -1, kawal_sql=f"SELECT _offset FROM t WHERE _offset % 20 = {number + 19}"
        )
    name = "v0"
    if shared:
        for number in range(TOGETHER_MIN):
            read_all(client, f"v{number}")
    commit(client, "g", (name, 0, 0))

    def lag() -> tuple[int, int]:
        (row,) = (row for row in ask(client, "g").subscriptions if not row.partition)
        return row.lag, row.end_offset

    for _ in range(5):
        send(client, "t", batch(b"a", b"b", b"c"))
    assert lag()[1] == 18
    assert lag()[0] in (15, 18), "nothing is known of the new records yet"
    assert read_all(client, name) == []
    assert lag() == (0, 18), "it matches nothing: there is nothing to catch up with"
    send(client, "t", batch(b"a", b"b", b"c"))
    assert len(read_all(client, name, offset=18)) == 1
    assert lag() == (1, 21)
    commit(client, "g", (name, 0, 20))
    assert lag() == (0, 21)


def test_the_lag_of_a_database_does_not_count_versions_that_it_does_not_show(gateway: Gateway) -> None:
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    create(client, "in", 1, **{"kawal.database": "d"})
    create(client, "all", -1, kawal_sql="DATABASE d")
    for _ in range(3):
        send(client, "in", batch(b"a"))
    found = read_all(client, "all")
    commit(client, "g", ("all", 0, found[0].offset))
    (row,) = ask(client, "g").subscriptions
    assert (row.lag, row.end_offset) == (3, found[-1].offset + 1)
    commit(client, "g", ("all", 0, found[1].offset + 1))
    (row,) = ask(client, "g").subscriptions
    assert (row.lag, row.rows) == (1, 2)


def test_a_view_that_can_match_nothing_has_no_lag(client: Client) -> None:
    create(client, "never", -1, kawal_sql="SELECT _offset FROM t WHERE _offset > 5 AND _offset < 3")
    assert read_all(client, "never") == []
    commit(client, "g", ("never", 0, 0))
    (row, _) = ask(client, "g").subscriptions
    assert (row.lag, row.end_offset) == (0, 3)
