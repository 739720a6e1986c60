"""Long answers that list what exists are made one after another: 150 at once took 800 MB."""

from __future__ import annotations

from typing import Any

import pytest

from broker.requests.dispatcher import LISTS
from protocol.api_keys import ApiKey
from protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import commit
from tests.broker.kit import create

PARTITIONS = 3_000

NAMED = [OffsetFetchRequestTopic(name="t", partition_indexes=list(range(PARTITIONS)))]


def requests() -> dict[str, tuple[ApiKey, Any, int]]:
    """Return requests whose answers have all there is: the API, the request, its version."""
    groups = [OffsetFetchRequestGroup(group_id="g", topics=None)]
    return {
        "directories": (ApiKey.DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=None), 1),
        "offsets": (ApiKey.OFFSET_FETCH, OffsetFetchRequest(group_id="g", topics=None), 7),
        "offsets of groups": (ApiKey.OFFSET_FETCH, OffsetFetchRequest(groups=groups), 8),
    }


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway(kawal_max_partitions=10_000)
    client = gateway.client()
    create(client, "t", PARTITIONS)
    for start in range(0, PARTITIONS, 1_000):
        commit(client, "g", *(("t", index, index) for index in range(start, start + 1_000)))
    return gateway


def asked(gateway: Gateway, request: Any, version: int) -> list[Client]:
    """Have three clients ask for the same, and serve them for a while."""
    clients = [gateway.client() for _ in range(3)]
    for client in clients:
        client.send(request, version)
    for _ in range(3):
        gateway.broker.scheduler.run()
    return clients


@pytest.mark.parametrize("kind", requests())
def test_those_of_one_api_wait_for_each_other_and_are_all_answered(gateway: Gateway, kind: str) -> None:
    key, request, version = requests()[kind]
    clients = asked(gateway, request, version)
    assert gateway.broker.memory.wide.line_length(key) == 2
    gateway.settle()
    answers = [client.answers() for client in clients]
    assert answers[0] == answers[1] == answers[2]
    assert len(str(answers[0])) > 10 * PARTITIONS


def test_offsets_that_are_named_do_not_wait(gateway: Gateway) -> None:
    clients = asked(gateway, OffsetFetchRequest(group_id="g", topics=NAMED), 7)
    assert gateway.broker.memory.wide.line_length(ApiKey.OFFSET_FETCH) == 0
    gateway.settle()
    assert [len(client.answers()) for client in clients] == [1, 1, 1]


def test_short_ones_do_not_wait_either(gateway: Gateway) -> None:
    asked(gateway, DescribeLogDirsRequest(topics=None), 1)
    few = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="t", partitions=[1])])
    assert ApiKey.LIST_GROUPS in LISTS
    narrow = gateway.client()
    narrow.send(OffsetFetchRequest(group_id="g", topics=None), 7)
    assert gateway.broker.memory.wide.line_length(ApiKey.OFFSET_FETCH) == 0
    assert gateway.client().call(few, 1).results[0].topics[0].partitions[0].partition_index == 1


def test_one_that_leaves_gives_its_turn_away(gateway: Gateway) -> None:
    key, request, version = requests()["directories"]
    first, second, third = asked(gateway, request, version)
    first.close()
    second.close()
    gateway.settle()
    assert len(third.answers()) == 1
    assert gateway.broker.memory.wide.line_length(key) == 0
