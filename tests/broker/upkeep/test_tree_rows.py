"""The partition tree as operators see it."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import pytest

from broker.errors import RequestError
from broker.upkeep import tree_rows
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import send
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic, tree
from tests.broker.topic_requests import deleted


def shown(client: Client) -> list[tuple[int, int, int, int, int]]:
    return [(row.partition, row.parent, row.parent_cut, row.start, row.end) for row in tree(client)]


def delete_before(client: Client, partition: int, offset: int) -> None:
    partitions = [DeleteRecordsPartition(partition_index=partition, offset=offset)]
    topics = [DeleteRecordsTopic(name="t", partitions=partitions)]
    client.call(DeleteRecordsRequest(topics=topics, timeout_ms=1_000), 2)


def test_parts_before_a_split_are_shown_until_retention_has_emptied_them(client: Client) -> None:
    split_topic(client)
    for key in (HIGH, LOW, HIGH):
        send(client, "t", keyed((key, b"1")))
    assert shown(client) == [(0, -1, -1, 0, -1)]
    split(client)
    send(client, "t", keyed((LOW, b"2")))
    split(client)
    split(client, 1)
    assert shown(client) == [
        (0, -1, -1, 0, 3),
        (0, -1, -1, 3, 4),
        (0, -1, -1, 4, -1),
        (1, 0, 3, 0, -1),
        (2, 0, 4, 0, -1),
        (3, 1, 0, 0, -1),
    ]
    delete_before(client, 0, 2)
    assert shown(client)[0] == (0, -1, -1, 2, 3)
    delete_before(client, 0, 3)
    assert shown(client)[0] == (0, -1, -1, 3, 4)
    delete_before(client, 0, 4)
    assert [row[0] for row in shown(client)] == [0, 1, 2, 3]


def test_the_ranges_of_active_partitions_join_each_other(client: Client) -> None:
    split_topic(client, partitions=2)
    for partition in (0, 0, 2, 1):
        split(client, partition)
    active = [row for row in tree(client) if row.end < 0]
    for root in (0, 1):
        ranges = sorted((row.low, row.high) for row in active if row.root == root)
        assert ranges[0][0] == 0
        assert all(first[1] == second[0] for first, second in pairwise(ranges))


def large_tree(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a tree of 9 splits, whose rows are made 3 in a step."""
    monkeypatch.setattr(tree_rows, "SPLITS_PER_STEP", 3)
    split_topic(client, partitions=2)
    for number in range(9):
        assert split(client, number // 2) == (0, "")


def test_a_large_tree_is_made_in_steps(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_tree(client, monkeypatch)
    topic = gateway.broker.catalogue.by_name["t"]
    assert sum(1 for _ in gateway.broker.splits.rows(topic)) > 5
    assert len(tree(client)) == 11


def test_a_topic_that_is_deleted_while_its_tree_is_made_gets_no_partitions_again(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_tree(client, monkeypatch)
    gateway.restart()
    topic = gateway.broker.catalogue.by_name["t"]
    steps = gateway.broker.splits.rows(topic)
    next(steps)
    assert deleted(gateway.client(), "t") == {"t": (0, "")}
    used = dict(topic.partitions)
    with pytest.raises(RequestError, match="was deleted"):
        deque(steps, maxlen=0)
    assert topic.partitions == used
