"""Lists of the command line and pages of the console on two workers: the same through each, and whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from compat_tests.broker import HOST
from compat_tests.confluent import open_consumer
from compat_tests.groups import fill, group_consumer
from compat_tests.kawal_broker import KAWAL
from compat_tests.test_web_console import Started, fetched
from compat_tests.test_workers import groups_on_all
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

PARTITIONS = 4

each_worker = pytest.mark.parametrize("number", [0, 1], ids=["controller", "other"])


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersBroker]:
    """Start a gateway of two workers with records and a group on each."""
    broker = WorkersBroker(tmp_path_factory.mktemp("lists"), 2, **{"group.initial.rebalance.delay.ms": "0"})
    broker.start()
    create_topic(broker, "t", PARTITIONS)
    fill(broker, "t", PARTITIONS, 5)
    for group in groups(broker):
        with open_consumer(broker, group_id=group) as consumer:
            places = [TopicPartition("t", index, index) for index in range(PARTITIONS)]
            consumer.commit(offsets=places, asynchronous=False)
    yield broker
    assert broker.stop()[0] == 0


GROUPS: list[str] = []


def groups(broker: WorkersBroker) -> list[str]:
    """Return the names of two groups, one on each worker."""
    if not GROUPS:
        GROUPS.extend(groups_on_all(broker, "g"))
    return GROUPS


def listed(broker: WorkersBroker, *words: str, fails: bool = False) -> tuple[Any, str]:
    """Return what a command prints as JSON, and what it says on standard error."""
    command = [KAWAL, *words, "--json", "--bootstrap", broker.bootstrap]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == int(fails), ended.stderr
    return json.loads(ended.stdout), ended.stderr


@each_worker
def test_progress_of_all_groups_in_all_partitions_is_listed_through_each(
    workers: WorkersBroker, number: int
) -> None:
    rows, said = listed(workers.at(number), "subscriptions")
    assert said == ""
    assert {(row["group"], row["partition"]): (row["offset"], row["end"], row["lag"]) for row in rows} == {
        (group, index): (index, 5, 5 - index) for group in groups(workers) for index in range(PARTITIONS)
    }
    trees, _ = listed(workers.at(number), "groups", "describe", *groups(workers))
    assert [len(tree["subscriptions"]) for tree in trees] == [PARTITIONS] * 2
    assert {row["group"] for row in listed(workers.at(number), "groups", "list")[0]} == set(groups(workers))


@each_worker
def test_consumers_connections_and_logs_of_all_are_listed_through_each(
    workers: WorkersBroker, number: int
) -> None:
    seen = workers.at(number)
    with (
        group_consumer(workers, groups(workers)[0], "t", client_id="one") as one,
        group_consumer(workers, groups(workers)[1], "t", client_id="two") as two,
    ):

        def have_partitions() -> bool:
            for consumer in (one, two):
                consumer.poll(0.1)
            return bool(one.assignment() and two.assignment())

        eventually(have_partitions, waiting_for="both to have partitions")
        assert {row["client_id"] for row in listed(seen, "consumers")[0]} == {"one", "two"}
        rows, _ = listed(seen, "cluster", "connections")
        assert {row["node"] for row in rows if row["client_id"] == "one"} == set(workers.ids)
    (database,), _ = listed(seen, "databases", "describe", "default")
    assert database["vnodes"] == 4
    logs, _ = listed(seen, "sql", "SELECT vgroup_id, size_bytes FROM information_schema.ins_vgroups")
    assert sorted(row["vgroup_id"] for row in logs) == [f"default/vnode-{index}" for index in range(4)]
    assert all(row["size_bytes"] for row in logs)


@each_worker
def test_the_console_shows_groups_and_records_of_all_through_each(
    workers: WorkersBroker, number: int, tmp_path: Path
) -> None:
    words = ("console", "--bootstrap", workers.at(number).bootstrap, "--listen", f"{HOST}:0")
    started = Started(tmp_path / "run", *words)
    port = started.port("kawal console http://")
    try:
        names = {row["group"] for row in json.loads(fetched(port, "/groups?as=json")[1])}
        assert set(groups(workers)) <= names
        for group in groups(workers):
            rows = json.loads(fetched(port, f"/groups/{group}?as=json")[1])
            assert sorted((row["partition"], row["lag"]) for row in rows) == [
                (index, 5 - index) for index in range(PARTITIONS)
            ]
        records = json.loads(fetched(port, "/topics/t/records?as=json")[1])
        assert {(row["partition"], row["value"]) for row in records} >= {
            (index, f"{index}:4") for index in range(PARTITIONS)
        }
        for path in ("/", "/topics", "/topics/t", "/map", "/databases", "/databases/default", "/logs"):
            status, page = fetched(port, path)
            assert status == 200, (path, page[:500])
    finally:
        started.end()


def test_a_worker_that_hangs_is_named_and_the_exit_code_tells(workers: WorkersBroker) -> None:
    pid = workers.children()[1]
    os.kill(pid, signal.SIGSTOP)
    try:
        rows, said = listed(workers, "subscriptions", fails=True)
        assert said == f"node {workers.ids[1]} has not answered: what it knows is missing\n"
        assert {row["group"] for row in rows} == {groups(workers)[0]}
        assert len(rows) == PARTITIONS // 2
        _, said = listed(workers, "databases", "describe", "default", fails=True)
        assert said == f"node {workers.ids[1]} has not answered: what it knows is missing\n"
    finally:
        os.kill(pid, signal.SIGCONT)
