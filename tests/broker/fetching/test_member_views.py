"""Fetches of groups with settings for reading: snapshots that begin and end, records that are waited for."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.group_reads import EPOCH, configure, member, records, seen
from tests.broker.groups import commit
from tests.broker.kit import batch, create, fetch, fetched, fetching, send, values
from tests.broker.txn import Producer


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(kawal_rebalance_interval_ms=0, group_consumer_session_timeout_ms=45_000)


def keyed(client: Client, *pairs: tuple[bytes, bytes | None]) -> None:
    assert send(client, "t", records(*pairs)).error_code == 0


def written(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t")
    keyed(client, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    keyed(client, (b"b", b"2"), (b"c", b"1"), (b"a", b"3"))
    configure(client, "g", snapshot_enable="true")
    return client


STATE = [(3, b"2"), (4, b"1"), (5, b"3")]


def test_a_group_begins_with_the_last_record_of_each_key_and_gets_every_later_one(gateway: Gateway) -> None:
    client = written(gateway)
    reader = member(gateway, "t")
    assert fetch(reader, "t").error_code == 0
    keyed(client, (b"a", b"4"), (b"a", b"5"))
    assert seen(reader, "t") == [*STATE, (6, b"4"), (7, b"5")]
    assert len(gateway.broker.member_views) == 1
    assert gateway.broker.member_views.budget.keys == 0, "what was read is forgotten"


def test_a_group_with_progress_gets_every_record(gateway: Gateway) -> None:
    client = written(gateway)
    reader = member(gateway, "t")
    commit(client, "h", ("t", 0, 1))
    commit(reader, "g", ("t", 0, 1), member=("g-10.0.0.9", EPOCH))
    assert seen(reader, "t", 1) == [(1, b"1"), (2, b"2"), (3, b"2"), (4, b"1"), (5, b"3")]
    assert len(seen(reader, "t")) == 6, "a seek to the start is not a group's first reading"


def test_a_snapshot_that_a_restart_forgot_is_followed_by_every_record(gateway: Gateway) -> None:
    written(gateway)
    reader = member(gateway, "t")
    data = fetch(reader, "t")
    assert values(data.records)[0] == b"2"
    commit(reader, "g", ("t", 0, 4), member=("g-10.0.0.9", EPOCH))
    gateway.restart()
    gateway.advance(1)
    assert seen(gateway.client(), "t", 4) == [(4, b"1"), (5, b"3")]


def test_a_snapshot_ends_before_the_first_undecided_record(gateway: Gateway) -> None:
    written(gateway)
    producer = Producer(gateway)
    producer.write("t", 0, b"undecided")
    reader = member(gateway, "t")
    # From there on the group reads the topic itself, here at the isolation level read_uncommitted.
    assert seen(reader, "t") == [*STATE, (6, b"undecided")]
    producer.abort()
    assert seen(reader, "t") == STATE


def test_deleted_records_are_no_part_of_a_snapshot_that_has_begun(gateway: Gateway) -> None:
    client = written(gateway)
    reader = member(gateway, "t")
    assert fetch(reader, "t").error_code == 0
    partition = DeleteRecordsPartition(partition_index=0, offset=4)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[partition])], timeout_ms=1
    )
    client.call(request, 2)
    assert fetch(reader, "t").error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert seen(reader, "t", 4) == [(4, b"1"), (5, b"3")]


def test_when_there_is_no_memory_for_keys_the_snapshot_ends_early(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.view_topics.key_snapshot.KEYS_MAX", 1)
    written(gateway)
    # The keys of the first batch are known, those of the second are not.
    assert seen(member(gateway, "t"), "t") == [(1, b"1"), (2, b"2"), (3, b"2"), (4, b"1"), (5, b"3")]


def test_remembered_partitions_are_bounded(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.fetching.member_views.VIEWS_MAX", 2)
    client = gateway.client()
    configure(client, "g", snapshot_enable="true")
    for name in ("p", "q", "r"):
        create(client, name)
        send(client, name, records((b"a", b"1"), (b"a", b"2")))
    reader = member(gateway, "p", "q", "r")
    for name in ("p", "q", "r"):
        assert fetch(reader, name).error_code == 0
    views = gateway.broker.member_views
    assert (len(views), views.budget.keys) == (2, 2)


# --- kawal.min.poll.rows ------------------------------------------------------------------------------------


def waiting(reader: Client, partition_max_bytes: int = 1 << 20) -> None:
    asked = fetching({("t", 0): 0}, max_wait_ms=500, partition_max_bytes=partition_max_bytes)
    reader.send(asked, 12)


def test_a_groups_fetch_waits_for_its_number_of_records(gateway: Gateway) -> None:
    client = gateway.client("10.0.0.1")
    create(client, "t")
    configure(client, "g", min_poll_rows="3")
    reader, other = member(gateway, "t"), gateway.client("10.0.0.2")
    send(client, "t", batch(b"1"))
    waiting(reader)
    waiting(other)
    assert len(other.answers()) == 1
    send(client, "t", batch(b"2"))
    assert reader.answers() == []
    send(client, "t", batch(b"3"))
    (answer,) = reader.answers()
    assert values(fetched(answer)["t", 0].records) == [b"1", b"2", b"3"]


def test_the_end_of_the_wait_and_a_full_answer_are_enough(gateway: Gateway) -> None:
    client = gateway.client("10.0.0.1")
    create(client, "t")
    configure(client, "g", min_poll_rows="1000")
    reader = member(gateway, "t")
    send(client, "t", batch(b"1"))
    waiting(reader)
    gateway.advance(499)
    assert reader.answers() == []
    gateway.advance(1)
    assert len(reader.answers()) == 1
    send(client, "t", batch(bytes(2_000)))
    waiting(reader, partition_max_bytes=100)
    assert len(reader.answers()) == 1


def test_records_that_a_view_shows_are_those_that_count(gateway: Gateway) -> None:
    client = gateway.client("10.0.0.1")
    create(client, "t", kawal_columns="n int")
    create(client, "v", -1, kawal_sql="SELECT n FROM t WHERE n > 1")
    configure(client, "g", min_poll_rows="2")
    reader = member(gateway, "v")
    reader.send(fetching({("v", 0): 0}, max_wait_ms=500), 12)
    for number in (1, 2, 1):
        send(client, "t", batch(b'{"n":%d}' % number))
        gateway.settle()
        assert reader.answers() == []
    send(client, "t", batch(b'{"n":3}'))
    gateway.advance(300)
    (answer,) = reader.answers()
    assert values(fetched(answer)["v", 0].records) == [b'{"n":2}', b'{"n":3}']
