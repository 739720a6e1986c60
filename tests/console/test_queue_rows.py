"""Rows of share groups, of brokers with one node and with several."""

from __future__ import annotations

from typing import Any

import pytest

from console import queue_rows
from console.admin import ask_private
from console.errors import CommandError
from console.queue_rows import coordinator_of, list_queues, read_queues, starts_of, summary_of
from protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from tests.console.queues import Busy


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Busy:
    return Busy(monkeypatch)


def test_groups_are_read_in_the_order_in_which_they_are_named(jobs: Busy) -> None:
    assert [row["group"] for row in read_queues("h:1", ["g", "g"])] == ["g"]
    with pytest.raises(CommandError, match=r"share group 'other': .*'kawal queues list'"):
        read_queues("h:1", ["g", "other"])


def test_members_that_left_are_shown_but_not_counted(jobs: Busy) -> None:
    jobs.worker.client.close()
    jobs.gateway.settle()
    jobs.gateway.advance(46_000)
    (row,) = list_queues("h:1")
    (member,) = row["members"]
    assert (member["member"], member["status"], member["client_id"]) == ("m1", "Exit", None)
    assert summary_of(row)["members"] == 0
    assert row["state"] == "Empty"


def test_starts_are_those_of_the_group_or_none(jobs: Busy) -> None:
    assert starts_of("h:1", "g") == {("jobs", 0): 0, ("jobs", 1): 0}
    assert starts_of("h:1", "other") == {}


def test_a_summary_of_unknown_numbers() -> None:
    partition = {"topic": "t", "acquired": None, "oldest_seconds": None, "backlog": None}
    row = {"group": "g", "state": "Empty", "members": [], "partitions": [partition]}
    assert summary_of(row) == {
        "group": "g", "state": "Empty", "members": 0, "topics": ["t"], "under_way": None,
        "oldest_seconds": None, "backlog": None,
    }  # fmt: skip


def test_of_several_brokers_the_coordinator_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = [
        DescribeClusterBroker(broker_id=1, host="a", port=1),
        DescribeClusterBroker(broker_id=2, host="::1", port=2),
    ]
    cluster = DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=brokers)
    monkeypatch.setattr(queue_rows, "describe_cluster", lambda _: cluster)
    asked: list[str] = []

    def ask(address: str, request: Any, _version: int) -> Any:
        asked.append(address)
        found = Coordinator(key="g", node_id=2, host="::1", port=2)
        return FindCoordinatorResponse(coordinators=[found])

    monkeypatch.setattr(queue_rows, "ask", ask)
    assert coordinator_of("a:1", "g") == "[::1]:2"
    assert asked == ["a:1"]


def test_errors_of_partitions_and_groups_are_told(jobs: Busy, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(address: str, request: Any) -> Any:
        answer = ask_private(address, request)
        row = answer.groups[0].topics[0].partitions[0]
        row.error_code, row.error_message = code, "loading"
        answer.groups[0].error_code = group_code
        return answer

    monkeypatch.setattr(queue_rows, "ask_private", ask)
    code, group_code = 14, 0
    (row,) = read_queues("h:1", ["g"])
    assert [partition["error"] for partition in row["partitions"]] == ["loading", None]
    assert row["partitions"][0]["acquired"] is None
    group_code = 14
    with pytest.raises(CommandError, match="share group 'g': "):
        read_queues("h:1", ["g"])
    group_code = 69
    assert read_queues("h:1", ["g"])[0]["counters"] is None
