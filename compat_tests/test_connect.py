"""Kafka Connect, distributed, with file source and sink: its state lives in three compacted topics."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from compat_tests.broker import HOST, Broker, free_port
from compat_tests.confluent import open_consumer
from compat_tests.conftest import StartBroker
from compat_tests.java import java_command
from compat_tests.process import ServerProcess
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

START_SECONDS = 100
"""It takes seconds when all is well; a disk that hangs for half a minute must not fail the test."""
STATE_TOPICS = ("connect-configs", "connect-offsets", "connect-status")


class Worker:
    """One worker of a Connect cluster; it may be stopped and started again."""

    def __init__(self, directory: Path, broker: Broker, **more: str) -> None:
        self._directory = directory
        self._port = free_port()
        self._properties = directory / "worker.properties"
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "connect",
            "listeners": f"http://{HOST}:{self._port}",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "config.storage.topic": STATE_TOPICS[0],
            "offset.storage.topic": STATE_TOPICS[1],
            "status.storage.topic": STATE_TOPICS[2],
            "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1",
            "offset.storage.partitions": "2",
            "status.storage.partitions": "2",
            "offset.flush.interval.ms": "500",
            "scheduled.rebalance.max.delay.ms": "0",
            # Reading the classes of all jars would take most of the time.
            "plugin.discovery": "service_load",
            **{key.replace("_", "."): value for key, value in more.items()},
        }
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self.process: ServerProcess

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.process = ServerProcess(
            java_command("org.apache.kafka.connect.cli.ConnectDistributed", str(self._properties)),
            log_path=self._directory / "worker.log",
            environment={},
        )
        eventually(self._answers, waiting_for="the worker", within_seconds=START_SECONDS)

    def _answers(self) -> bool:
        assert self.process.exit_code is None, self.process.tail()
        return self.call("GET", "/connectors") is not None

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Ask its REST API; return None while it does not answer or is busy."""
        request = urllib.request.Request(
            f"http://{HOST}:{self._port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return json.loads(text) if text else {}
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def connector(self, name: str, **config: str) -> None:
        """Create a connector and wait until it and its task run."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        eventually(
            lambda: self.call("PUT", f"/connectors/{name}/config", {"tasks.max": "1", **settings}),
            waiting_for=f"connector {name}",
            within_seconds=START_SECONDS,
        )
        self.wait_until_running(name)

    def wait_until_running(self, name: str) -> None:
        """Wait until a connector and its one task run."""

        def running() -> bool:
            status = self.call("GET", f"/connectors/{name}/status") or {}
            states = [status.get("connector", {}), *status.get("tasks", [])]
            return [state.get("state") for state in states] == ["RUNNING", "RUNNING"]

        eventually(
            running,
            waiting_for=f"{name} to run",
            within_seconds=START_SECONDS,
            last=lambda: self.call("GET", f"/connectors/{name}/status"),
        )


@pytest.fixture
def stopping() -> Iterator[list[Worker]]:
    """Yield a list of workers that are ended with the test, whatever happens."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.process.kill()


def policies(broker: Broker) -> dict[str, str]:
    """Return the cleanup policies of Connect's own topics."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic) for topic in STATE_TOPICS])
    return {resource.name: future.result(60)["cleanup.policy"].value for resource, future in asked.items()}


def write(path: Path, first: int, count: int) -> None:
    """Append numbered lines."""
    with path.open("a") as file:
        file.write("".join(f"line {number}\n" for number in range(first, first + count)))


def wait_for_lines(worker: Worker, path: Path, count: int) -> None:
    """Wait until the sink has written all lines, each once and in order."""
    wanted = [f"line {number}" for number in range(count)]

    def arrived() -> bool:
        return path.exists() and path.read_text().splitlines() == wanted

    def there_is() -> str:
        lines = path.read_text().splitlines() if path.exists() else []
        return f"{len(lines)} lines, the last ones {lines[-3:]}\n{worker.process.tail()}"

    eventually(arrived, waiting_for=f"{count} lines", within_seconds=START_SECONDS, last=there_is)


@pytest.mark.timeout(300, method="signal")
def test_lines_go_from_file_to_file_over_restarts_of_worker_and_broker(
    start_broker: StartBroker, tmp_path: Path, stopping: list[Worker]
) -> None:
    broker = start_broker(log_cleaner_backoff_ms="1000")
    create_topic(broker, "lines", 1)
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    write(source, 0, 500)
    worker = Worker(tmp_path, broker)
    worker.start()
    stopping.append(worker)
    worker.connector("source", connector_class="FileStreamSource", file=str(source), topic="lines")
    worker.connector("sink", connector_class="FileStreamSink", file=str(sink), topics="lines")
    wait_for_lines(worker, sink, 500)
    assert policies(broker) == dict.fromkeys(STATE_TOPICS, "compact")

    worker.process.terminate(within_seconds=60)
    broker.kill()
    broker.restart()
    write(source, 500, 500)
    worker.start()

    for name in ("source", "sink"):
        worker.wait_until_running(name)
    wait_for_lines(worker, sink, 1_000)
    assert sorted(worker.call("GET", "/connectors")) == ["sink", "source"]
    worker.process.terminate(within_seconds=60)


def committed_lines(broker: Broker) -> list[str]:
    """Read the committed records of the topic `lines`, up to the last stable offset."""
    found: list[str] = []
    with open_consumer(broker, isolation_level="read_committed", enable_partition_eof=True) as consumer:
        consumer.assign([TopicPartition("lines", 0, 0)])
        while (message := consumer.poll(60)) is not None and not message.error():
            found.append(message.value().decode())
    return found


def missing(broker: Broker, count: int) -> str:
    """Name the lines that are not there, and the offset before which readers of committed data stop."""
    found = set(committed_lines(broker))
    absent = [number for number in range(count) if f"line {number}" not in found]
    ends = []
    for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        asked = {TopicPartition("lines", 0): OffsetSpec.latest()}
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
        (answer,) = admin.list_offsets(asked, isolation_level=level).values()
        ends.append(answer.result(60).offset)
    stable, end = ends
    return f"without {absent[:3]} to {absent[-3:]}; stable up to {stable} of {end}"


@pytest.mark.timeout(300, method="signal")
def test_an_exactly_once_source_sends_each_line_once_although_its_worker_is_killed(
    start_broker: StartBroker, tmp_path: Path, stopping: list[Worker]
) -> None:
    """Source offsets are part of the transactions (KIP-618); a new task fences the old one."""
    broker = start_broker(log_cleaner_backoff_ms="1000")
    create_topic(broker, "lines", 1)
    source = tmp_path / "in.txt"
    write(source, 0, 3_000)
    worker = Worker(tmp_path, broker, exactly_once_source_support="enabled")
    worker.start()
    stopping.append(worker)
    worker.connector(
        "source",
        connector_class="FileStreamSource",
        file=str(source),
        topic="lines",
        batch_size="50",
        exactly_once_support="required",
        producer_override_linger_ms="20",
    )
    eventually(
        lambda: len(committed_lines(broker)) > 200, waiting_for="some lines", within_seconds=START_SECONDS
    )
    worker.process.kill()
    write(source, 3_000, 1_000)
    worker.start()
    worker.wait_until_running("source")
    written = 4_000

    def arrived() -> bool:
        # The source keeps what is left in its buffer after a full batch until the file grows.
        nonlocal written
        write(source, written, 100)
        written += 100
        return len(committed_lines(broker)) >= 4_000

    eventually(
        arrived,
        waiting_for="all lines",
        within_seconds=START_SECONDS,
        last=lambda: f"{missing(broker, 4_000)}\n{worker.process.tail()}",
    )
    assert committed_lines(broker)[:4_000] == [f"line {number}" for number in range(4_000)]
    worker.process.terminate(within_seconds=60)
