"""Searches of the web console in processes of their own: started, killed, replaced, gone with the console."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from compat_tests.broker import HOST, Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import MakeTopic
from compat_tests.test_web_console import Started, fetched
from compat_tests.waiting import eventually

KEY = quote("_key = 'k7'")


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(word) for found in lists for word in found.read_text().split())


@pytest.fixture
def console(broker: Broker, tmp_path: Path) -> Iterator[Started]:
    started = Started(
        tmp_path / "console", "console", "--bootstrap", broker.bootstrap, "--listen", f"{HOST}:0"
    )
    yield started
    if started.process.poll() is None:
        started.end()


def write(broker: Broker, topic: str) -> None:
    producer = make_producer(broker)
    for number in range(10):
        producer.produce(topic, f"v{number}", key=f"k{number}")
    assert producer.flush(60) == 0


def found(port: int, topic: str) -> list[str]:
    status, rows = fetched(port, f"/topics/{topic}/records?as=json&where={KEY}")
    assert status == 200, rows
    return [row["value"] for row in json.loads(rows)]


def test_a_search_has_a_process_which_may_be_killed_and_ends_with_the_console(
    broker: Broker, make_topic: MakeTopic, console: Started
) -> None:
    topic = make_topic()
    write(broker, topic)
    port = console.port("kawal console http://")
    assert children(console.process.pid) == []
    assert found(port, topic) == ["v7"]
    (first,) = children(console.process.pid)
    if hasattr(os, "SCHED_IDLE"):
        assert os.SCHED_IDLE in {os.sched_getscheduler(int(task.name)) for task in _tasks(first)}
    assert os.getsid(first) == os.getsid(console.process.pid), "or its session would have a share of its own"
    assert os.sched_getscheduler(console.process.pid) != getattr(os, "SCHED_IDLE", -1)
    assert found(port, topic) == ["v7"]
    assert children(console.process.pid) == [first], "it is used again"

    os.kill(first, signal.SIGKILL)
    eventually(lambda: first not in children(console.process.pid), waiting_for="its end")
    assert found(port, topic) == ["v7"]
    (second,) = children(console.process.pid)

    console.process.kill()
    console.process.wait(60)
    eventually(lambda: not _runs(second), waiting_for="the end of the process of the search")


def _tasks(pid: int) -> Iterator[Path]:
    return Path(f"/proc/{pid}/task").iterdir()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_search_that_is_stopped_in_its_process_ends_and_leaves_the_pages_alone(
    broker: Broker, make_topic: MakeTopic, console: Started
) -> None:
    topic = make_topic()
    write(broker, topic)
    port = console.port("kawal console http://")
    assert found(port, topic) == ["v7"]
    (process,) = children(console.process.pid)
    os.kill(process, signal.SIGSTOP)  # as on a machine on which nothing is left for it
    status, _ = fetched(port, f"/topics?q={topic}")
    assert status == 200
    status, page = _waited(port, f"/topics/{topic}/records?where={KEY}")
    assert (status, "took longer than" in page) == (504, True)
    eventually(lambda: not _runs(process), waiting_for="the end of the process that did not end by itself")
    assert found(port, topic) == ["v7"]


def _waited(port: int, path: str) -> tuple[int, str]:
    import http.client

    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    try:
        connection.request("GET", path)
        answer: Any = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
