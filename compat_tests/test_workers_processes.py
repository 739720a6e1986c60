"""`kawal serve --workers N` as scripts and supervisors see it: processes, ports, ends, restarts, metrics."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.parser import text_string_to_metric_families

from compat_tests.broker import API_VERSIONS_REQUEST, HOST
from compat_tests.served import Served, check_that_a_supervisor_hears_of_one_life, serving
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="the command line is the gateway's own")

COUNT = 3
VNODES = 6


class Workers(Served):
    """A server with several workers."""

    def children(self) -> list[int]:
        """Return the process ids of the workers, in the order of their start."""
        pid = self.process.pid
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def url(self) -> str:
        """Return the address of metrics and health."""
        found = eventually(
            lambda: re.search(r"at (http://[0-9.:]+)", self.err.read_text()), waiting_for="the address"
        )
        return str(found[1])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    """Yield a function that starts a server with workers, data in `tmp_path/data`; later flags win."""
    defaults = ["--workers", str(COUNT), "--listen", f"{HOST}:0", "--http", f"{HOST}:0"]
    defaults += ["--set", "kawal.console.listeners=none", "--set", f"kawal.vnodes={VNODES}"]
    with serving(Workers, tmp_path, *defaults) as start:
        yield start


def answers(port: int) -> bool:
    """Whether a server answers a request on the port."""
    with suppress(OSError), socket.create_connection((HOST, port), timeout=10) as connection:
        connection.sendall(API_VERSIONS_REQUEST)
        return bool(connection.recv(100))
    return False


def runs(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def samples(url: str) -> dict[str, dict[str, float]]:
    """Return the values of each metric by worker."""
    found: dict[str, dict[str, float]] = {}
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as page:
        for family in text_string_to_metric_families(page.read().decode()):
            for sample in family.samples:
                found.setdefault(sample.name, {})[sample.labels.get("worker", "")] = sample.value
    return found


def test_all_answer_on_ports_in_a_row_after_one_ready_line_and_stop_cleanly(
    serve: Any, tmp_path: Path
) -> None:
    served = serve()
    port = served.wait_until_ready()
    assert all(answers(port + number) for number in range(COUNT))
    assert len(served.children()) == COUNT
    admin = AdminClient({"bootstrap.servers": f"{HOST}:{port + 1}"})
    metadata = admin.list_topics(timeout=60)
    assert {node.id: node.port for node in metadata.brokers.values()} == {
        1 + number: port + number for number in range(COUNT)
    }
    assert metadata.controller_id == 1
    workers = served.children()
    served.end()
    assert served.out.read_text() == f"kawal ready {HOST}:{port}\n"
    assert not any(map(runs, workers))
    assert [name.name for name in (tmp_path / "data").iterdir() if name.name.endswith(".sock")] == []
    ends = re.findall(r"SIGTERM: stopping worker=(\d)", served.err.read_text())
    assert sorted(ends) == ["0", "1", "2"]
    assert ends[-1] == "0"


def test_one_worker_is_one_process(serve: Any) -> None:
    served = serve("--workers", "1")
    port = served.wait_until_ready()
    assert answers(port)
    assert served.children() == []
    served.end()
    assert "worker" not in served.err.read_text()


def test_records_are_written_and_read_at_all_workers(serve: Any) -> None:
    served = serve()
    servers = {"bootstrap.servers": f"{HOST}:{served.wait_until_ready()}"}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("t", VNODES, 1)])["t"].result(60)

    def leaders() -> set[int]:
        topic = admin.list_topics("t", timeout=60).topics["t"]
        found = {part.leader for part in topic.partitions.values()}
        return found if len(topic.partitions) == VNODES else set()

    assert eventually(leaders, waiting_for="all partitions") == {1, 2, 3}
    producer = Producer(servers)
    for number in range(60):
        producer.produce("t", str(number), partition=number % VNODES)
    assert producer.flush(60) == 0
    consumer = Consumer({**servers, "group.id": "g"})
    consumer.assign([TopicPartition("t", index, 0) for index in range(VNODES)])
    read: list[bytes] = []

    def has_all() -> bool:
        read.extend(message.value() for message in consumer.consume(60, 1))
        return len(read) >= 60

    eventually(has_all, waiting_for="the records")
    consumer.close()
    assert sorted(read, key=int) == [str(number).encode() for number in range(60)]
    served.end()


@pytest.mark.parametrize("number", range(COUNT))
def test_a_killed_worker_is_started_again_and_the_others_go_on(serve: Any, number: int) -> None:
    served = serve()
    port = served.wait_until_ready()
    before = served.children()
    os.kill(before[number], signal.SIGKILL)
    eventually(lambda: f"worker {number} answers again" in served.err.read_text(), waiting_for="the restart")
    assert all(answers(port + each) for each in range(COUNT))
    after = served.children()
    assert [pid for pid in before if pid in after] == [pid for pid in before if pid != before[number]]
    assert f"worker {number} (process {before[number]}) ended with SIGKILL" in served.err.read_text()
    served.end()
    assert served.out.read_text().count("kawal ready") == 1


def test_after_a_restart_of_the_controller_workers_still_follow_its_catalogue(serve: Any) -> None:
    served = serve()
    port = served.wait_until_ready()
    os.kill(served.children()[0], signal.SIGKILL)
    eventually(lambda: "worker 0 answers again" in served.err.read_text(), waiting_for="the restart")
    admin = AdminClient({"bootstrap.servers": f"{HOST}:{port}"})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(60)
    other = AdminClient({"bootstrap.servers": f"{HOST}:{port + 2}"})
    eventually(lambda: "t" in other.list_topics(timeout=60).topics, waiting_for="the topic")
    served.end()


def test_workers_end_with_their_parent_and_the_directory_is_free_then(serve: Any, tmp_path: Path) -> None:
    served = serve()
    served.wait_until_ready()
    workers = served.children()
    sentence = serve().refusal()
    assert str(served.process.pid) in sentence
    served.process.kill()
    served.process.wait(60)
    eventually(lambda: not any(map(runs, workers)), waiting_for="the end of the workers", within_seconds=1)
    again = serve()
    again.wait_until_ready()
    again.end()


def test_the_directory_is_locked_while_any_worker_lives(serve: Any, tmp_path: Path) -> None:
    served = serve()
    served.wait_until_ready()
    workers = served.children()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    # A stopped process is ended by SIGKILL all the same: the lock is free again as soon as all are.
    served.process.kill()
    served.process.wait(60)
    eventually(lambda: not any(map(runs, workers)), waiting_for="the end of the workers", within_seconds=1)
    serve().wait_until_ready()


def test_a_worker_that_cannot_start_ends_the_start_in_one_sentence(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "no-certificate"
    secure = ["--set", "listener.security.protocol.map=A:SSL", "--set", f"ssl.keystore.location={file}"]
    sentence = serve("--listen", f"A://{HOST}:0", *secure).refusal()
    assert str(file) in sentence
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"{HOST}:{port}" in serve("--listen", f"{HOST}:{port - 1}").refusal()


def test_metrics_of_all_are_on_one_page_and_those_of_a_stopped_worker_are_left_out(serve: Any) -> None:
    served = serve()
    served.wait_until_ready()
    url = served.url()
    found = samples(url)
    assert set(found["kawal_connections"]) == {"0", "1", "2"}
    assert found["kawal_workers"] == {"": 3}
    assert found["kawal_workers_without_metrics"] == {"": 0}
    with urllib.request.urlopen(f"{url}/readyz", timeout=60) as page:
        assert page.status == 200
    stopped = served.children()[1]
    os.kill(stopped, signal.SIGSTOP)
    found = samples(url)
    assert set(found["kawal_connections"]) == {"0", "2"}
    assert found["kawal_workers_without_metrics"] == {"": 1}
    os.kill(stopped, signal.SIGCONT)
    served.end()


def test_sighup_reaches_all_workers_and_those_started_later(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "kawal.toml"
    file.write_text('"num.partitions" = 2\n')
    served = serve("--config", str(file))
    served.wait_until_ready()

    def changed() -> int:
        return int(served.err.read_text().count("num.partitions 2 -> 3"))

    file.write_text('"num.partitions" = 3\n')
    served.process.send_signal(signal.SIGHUP)
    eventually(lambda: changed() == COUNT, waiting_for="the change at all workers")
    assert "at the next start only" not in served.err.read_text()
    os.kill(served.children()[2], signal.SIGKILL)
    eventually(lambda: changed() == COUNT + 1, waiting_for="the change at the new one")
    served.end()


def test_systemd_hears_of_the_server_once(serve: Any) -> None:
    check_that_a_supervisor_hears_of_one_life(serve)


def test_a_directory_with_a_long_path_can_be_served(serve: Any, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-folder-with-a-long-name"] * 8)
    served = serve("--data", str(deep))
    served.wait_until_ready()
    modes = {name.stat().st_mode & 0o777 for name in deep.iterdir() if name.name.endswith(".sock")}
    assert modes == {0o600}
    served.end()
