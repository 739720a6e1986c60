"""The topics that tell of two nodes with directories of their own, and an audit log of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.confluent import lines_of
from compat_tests.nodes import NodesCluster, as_broker
from compat_tests.test_workers_topics import LOGS, PARTITIONS, STORAGE, ledgers_of, newest, write
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="about nodes of the gateway")

AUDIT = "__kawal_audit"
SETTINGS = {
    "kawal.ledgers.topic": "true",
    "kawal.storage.state.topic": "true",
    "kawal.audit.topic": "true",
}


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesCluster]:
    """Start two nodes that tell of themselves."""
    cluster = NodesCluster(tmp_path, 2, **SETTINGS)
    for node in cluster.nodes:
        node.settings["kawal.audit.file"] = str(tmp_path / f"audit-{node.number}.log")
    cluster.start()
    yield cluster
    cluster.kill()


def test_ledgers_logs_and_events_of_both_nodes_are_told_whichever_of_them_dies(nodes: NodesCluster) -> None:
    broker = as_broker(nodes)
    create_topic(nodes[1], "t", PARTITIONS, {"kawal.message.ids": "true", "kawal.ledger.max.entries": "1"})
    write(broker, "t")

    def starts() -> list[int]:
        events = map(json.loads, lines_of(broker, AUDIT))
        return sorted(event["node"] for event in events if event["event"] == "server.started")

    # A crash takes with it what was not written yet; the first batch of node 1 waits for node 2.
    eventually(lambda: starts() == [1, 2], waiting_for="the first start of both", last=starts)
    for node in nodes.nodes:
        node.kill()
        node.restart()
        write(broker, "t")
    told = [[0, 1, 2]] * PARTITIONS
    eventually(lambda: ledgers_of(broker, "t") == told, waiting_for="the ledgers of both")
    eventually(lambda: sorted(newest(broker, STORAGE)) == LOGS, waiting_for="the logs of both")
    assert {log["node"] for log in newest(broker, STORAGE).values()} == set(nodes.ids)
    eventually(lambda: starts() == [1, 1, 2, 2], waiting_for="both starts of both", last=starts)
    lines = lines_of(broker, AUDIT)
    assert len(lines) == len(set(lines)), "no event is there twice"
    files = [
        line
        for number in range(2)
        for line in (nodes.directory / f"audit-{number}.log").read_text().splitlines()
    ]
    assert set(lines) <= set(files)
    assert nodes.stop() == [0, 0]
