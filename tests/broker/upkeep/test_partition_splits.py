"""Partitions that split by themselves, or are told to."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.partitioner import partition_of
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import producing, send
from tests.broker.numbered import of_records
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic, splitting, tree, values_of
from tests.broker.topic_requests import altered, deleted, partition_count

UP: dict[str, Any] = {
    "kawal_partition_autosplit_mode": "up",
    "kawal_partition_write_bytes_per_sec": "10000",
    "kawal_partition_autosplit_window_ms": "1000",
}


def load(gateway: Gateway, client: Client, *keys: bytes, for_ms: int = 4_000, size: int = 870) -> None:
    """Write to partition 0 as fast as that, with these keys in turn."""
    for number in range(for_ms // 100):
        rows = [(key, b"x" * (size // len(keys))) for key in keys]
        assert send(client, "t", keyed(*rows)).error_code == 0, number
        gateway.advance(100)


def test_a_partition_that_is_written_to_near_its_speed_is_split(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **UP)
    load(gateway, client, HIGH, LOW)
    assert partition_count(client, "t") >= 2


def test_all_partitions_are_split_when_one_is_due_so_that_murmur2_still_finds_each_key(
    gateway: Gateway,
) -> None:
    client = gateway.client()
    keys = [b"%d" % number for number in range(40) if partition_of(b"%d" % number, 3) == 0]
    split_topic(client, partitions=3, **UP)
    load(gateway, client, *keys, for_ms=3_000)
    assert partition_count(client, "t") == 6
    for key in keys:
        answer = send(client, "t", keyed((key, b"v")), partition_of(key, 6))
        assert answer.base_offset >= 0, "it is stored where it was sent"


def test_where_all_of_them_would_be_too_many_the_one_that_is_due_is_split(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, partitions=3, **UP, kawal_partition_autosplit_max_active="5")
    keys = [b"%d" % number for number in range(40) if partition_of(b"%d" % number, 3) == 0]
    load(gateway, client, *keys, for_ms=2_000)
    assert partition_count(client, "t") == 4


def test_what_a_crash_has_left_of_a_level_is_split_next(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, partitions=3, **UP, kawal_partition_autosplit_max_active="6")
    assert split(client, 0) == (0, "")
    gateway.crash()
    client = gateway.client()
    keys = [b"%d" % number for number in range(60) if partition_of(b"%d" % number, 6) == 0]
    load(gateway, client, *keys, for_ms=3_000)
    assert partition_count(client, "t") == 6
    parents = sorted(row.parent for row in tree(client) if row.end < 0)
    assert parents == [-1, -1, -1, 0, 1, 2]


def test_a_topic_that_is_deleted_while_all_its_partitions_are_split_is_gone(gateway: Gateway) -> None:
    client, other = gateway.client(), gateway.client()
    split_topic(client, partitions=3, **UP)
    keys = [b"%d" % number for number in range(40) if partition_of(b"%d" % number, 3) == 0]
    for _ in range(30):
        client.send(producing(("t", 0, keyed(*((key, b"x" * 70) for key in keys)))), 9)
        gateway.advance(100)
        if partition_count(other, "t") > 3:
            break
    assert deleted(other, "t") == {"t": (0, "")}
    gateway.restart()
    client = gateway.client()
    split_topic(client, partitions=3)
    assert partition_count(client, "t") == 3


def test_less_speed_than_the_percent_does_not_split(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **UP)
    load(gateway, client, HIGH, LOW, size=700, for_ms=10_000)
    assert partition_count(client, "t") == 1


def test_a_paused_topic_does_not_split_by_itself_until_it_goes_on(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **{**UP, "kawal_partition_autosplit_mode": "paused"})
    load(gateway, client, HIGH, LOW)
    assert partition_count(client, "t") == 1
    assert altered(client, "t", "kawal.partition.autosplit.mode", "up") == (0, "")
    load(gateway, client, HIGH, LOW)
    assert partition_count(client, "t") >= 2


def test_one_key_is_not_divided_and_the_reason_is_shown(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **UP)
    load(gateway, client, HIGH)
    assert partition_count(client, "t") == 1
    (row,) = tree(client)
    assert "one key" in row.why_not
    assert row.bytes_per_second > 4_000


def test_a_topic_has_no_more_partitions_than_it_may_have(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **UP, kawal_partition_autosplit_max_active="1")
    load(gateway, client, HIGH, LOW)
    assert partition_count(client, "t") == 1
    assert "kawal.partition.autosplit.max.active" in tree(client)[0].why_not
    assert split(client) == (0, ""), "an operator may"


@pytest.mark.parametrize(("partitions", "most", "count"), [(1, 1, 1), (3, 1, 3), (3, 3, 3), (1, 10_000, 2)])
def test_the_bounds_of_the_number_of_partitions_are_kept(
    gateway: Gateway, partitions: int, most: int, count: int
) -> None:
    client = gateway.client()
    split_topic(client, partitions=partitions, **UP, kawal_partition_autosplit_max_active=str(most))
    keys = [b"%d" % number for number in range(60) if partition_of(b"%d" % number, partitions) == 0]
    load(gateway, client, *keys, for_ms=2_000)
    assert partition_count(client, "t") == count
    assert split(client) == (0, ""), "by hand it may be split all the same"


def test_records_without_keys_split_in_the_middle(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **UP)
    for _ in range(40):
        send(client, "t", keyed((None, b"x" * 870)))
        gateway.advance(100)
    assert partition_count(client, "t") >= 2


def test_named_producers_divide_by_their_names(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, **UP, kawal_dedup="seqno")
    for number in range(60):
        rows = [(b"producer-%d" % name, number) for name in range(16)]
        assert send(client, "t", of_records(rows)).error_code == 0
        gateway.advance(100)
    assert partition_count(client, "t") >= 2
    found = [len(values_of(client, index)) for index in range(2)]
    assert all(found)


def test_a_split_is_refused_with_a_sentence(client: Client) -> None:
    split_topic(client)
    assert split(client, 7)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert split(client, -1)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_two_splits_at_once_are_one(gateway: Gateway) -> None:
    client, other = gateway.client(), gateway.client()
    split_topic(client)
    client.send(splitting(0), 0)
    other.send(splitting(0), 0)
    gateway.settle()
    first, second = client.answers()[0].topics[0], other.answers()[0].topics[0]
    assert first.error_code == 0
    assert "is being split" in second.error_message
    assert partition_count(client, "t") == 2


def test_a_split_that_is_lost_with_the_disk_changes_nothing(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    send(client, "t", keyed((HIGH, b"1")))
    client.send(splitting(0), 0)
    gateway.crash()
    client = gateway.client()
    assert partition_count(client, "t") == 1
    assert send(client, "t", keyed((HIGH, b"2"))).base_offset == 1


def test_a_topic_that_is_deleted_while_it_splits_is_gone(gateway: Gateway) -> None:
    client, other = gateway.client(), gateway.client()
    split_topic(client)
    client.send(splitting(0), 0)
    assert deleted(other, "t") == {"t": (0, "")}
    gateway.restart()
    client = gateway.client()
    split_topic(client)
    assert partition_count(client, "t") == 1


def test_a_partition_is_split_until_its_range_has_one_place(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    for _ in range(33):
        code, message = split(client)
        if code:
            break
    else:
        pytest.fail("a range of one place was divided")
    assert "one place" in message
