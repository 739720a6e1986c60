"""The web console as people meet it: started by the gateway at the first connection, or alone."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import HOST, Broker, free_port
from compat_tests.confluent import make_producer, produce
from compat_tests.kawal_broker import KAWAL
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="the console is the gateway's own")


class Started:
    """A program with its output in files."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        folder.mkdir()
        self.out, self.err = folder / "out", folder / "err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [KAWAL, *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=folder,
                env={**os.environ, **environment},
            )

    def port(self, words: str) -> int:
        """Return the port in the line that begins so."""

        def line() -> re.Match[str] | None:
            assert self.process.poll() is None, self.err.read_text()
            return re.search(rf"^{words}[\d.]+:(\d+)$", self.out.read_text(), re.MULTILINE)

        return int(eventually(line, waiting_for=words)[1])

    def console_pids(self) -> list[int]:
        """Return the processes that this one has started."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        children = {
            int(word)
            for task in path.parents[1].iterdir()
            for word in (task / "children").read_text().split()
        }
        return sorted(children)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.err.read_text()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """Yield a function that starts `kawal` with these words."""
    started: list[Started] = []

    def run(*words: str, **environment: str) -> Started:
        started.append(Started(tmp_path / f"run-{len(started)}", *words, **environment))
        return started[-1]

    yield run
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait(60)


def serve_words(tmp_path: Path, console: str) -> list[str]:
    settings = ["--set", f"kawal.console.listeners={console}"]
    return ["serve", "--listen", f"{HOST}:0", "--http", "none", "--data", str(tmp_path / "data"), *settings]


def create(topic: str, port: int) -> None:
    subprocess.run(
        [KAWAL, "topics", "create", topic, "--bootstrap", f"{HOST}:{port}"], check=True, timeout=60
    )


def fetched(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_first_connection_starts_it_and_it_ends_with_the_gateway(start: Any, tmp_path: Path) -> None:
    gateway = start(*serve_words(tmp_path, f"{HOST}:0"))
    port = gateway.port("kawal console http://")
    assert gateway.console_pids() == []
    create("orders", gateway.port("kawal ready "))
    status, html = fetched(port, "/topics")
    assert (status, "orders" in html) == (200, True)
    (console,) = gateway.console_pids()
    assert Path(f"/proc/{console}/oom_score_adj").read_text().strip() == "500"
    assert os.getsid(console) == os.getsid(gateway.process.pid), "or it would have a share of its own"
    assert os.getpgid(console) == console, "Ctrl-C in a terminal is for the gateway alone"
    assert fetched(port, "/topics/orders/records")[0] == 200
    assert gateway.console_pids() == [console]
    gateway.end()
    eventually(lambda: not Path(f"/proc/{console}").exists(), waiting_for="the end of the console")


def test_it_ends_with_a_gateway_that_is_killed(start: Any, tmp_path: Path) -> None:
    gateway = start(*serve_words(tmp_path, f"{HOST}:0"))
    port = gateway.port("kawal console http://")
    assert fetched(port, "/")[0] == 200
    (console,) = gateway.console_pids()
    gateway.process.kill()
    gateway.process.wait(60)
    eventually(lambda: not Path(f"/proc/{console}").exists(), waiting_for="the end of the console")


def test_one_that_is_killed_is_told_and_comes_back(start: Any, tmp_path: Path) -> None:
    gateway = start(*serve_words(tmp_path, f"{HOST}:0"))
    port = gateway.port("kawal console http://")
    assert fetched(port, "/")[0] == 200
    (console,) = gateway.console_pids()
    os.kill(console, signal.SIGKILL)
    eventually(lambda: "the web console ended" in gateway.err.read_text(), waiting_for="the line in the log")
    assert fetched(port, "/")[0] == 200
    gateway.end()


def test_one_that_cannot_start_hurts_no_client(start: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "jinja2.py").write_text("raise ImportError('broken on purpose')\n")
    gateway = start(*serve_words(tmp_path, f"{HOST}:0"), PYTHONPATH=str(broken))
    port = gateway.port("kawal console http://")
    status, text = fetched(port, "/")
    assert (status, "could not start" in text) == (503, True)
    assert "broken on purpose" in gateway.err.read_text()
    create("still", gateway.port("kawal ready "))
    gateway.end()


def test_a_default_port_that_is_taken_gives_way_and_a_chosen_one_does_not(start: Any, tmp_path: Path) -> None:
    with socket.create_server((HOST, free_port())) as other:
        taken = other.getsockname()[1]
        refused = start(*serve_words(tmp_path, f"{HOST}:{taken}"))
        assert refused.process.wait(60) == 1
        assert (
            f"cannot serve the console on {HOST}:{taken}: address already in use" in refused.err.read_text()
        )


def test_it_tells_the_supervisor_nothing(start: Any, tmp_path: Path) -> None:
    notify = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(notify))
        gateway = start(*serve_words(tmp_path, f"{HOST}:0"), NOTIFY_SOCKET=str(notify))
        assert fetched(gateway.port("kawal console http://"), "/")[0] == 200
        (console,) = gateway.console_pids()
        environment = Path(f"/proc/{console}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in environment
        gateway.end()


def test_alone_it_serves_any_broker_and_changes_nothing_when_read_only(start: Any, broker: Broker) -> None:
    create_topic(broker, "flights")
    produce(make_producer(broker), "flights", [b'{"id":9223372036854775807}'])
    console = start("console", "--bootstrap", broker.bootstrap, "--listen", f"{HOST}:0", "--read-only")
    port = console.port("kawal console http://")
    status, html = fetched(port, "/topics/flights/records/0/0")
    assert (status, "9223372036854775807" in html) == (200, True)
    assert fetched(port, "/topics?as=json")[0] == 200
    assert fetched(port, "/", Host="evil.example")[0] == 421
    console.end()


def test_a_broker_that_goes_away_is_a_sentence_and_comes_back(start: Any, tmp_path: Path) -> None:
    port = free_port()
    words = ["serve", "--listen", f"{HOST}:{port}", "--http", "none", "--data", str(tmp_path / "data")]
    words += ["--set", "kawal.console.listeners=none"]
    gateway = start(*words)
    gateway.port("kawal ready ")
    console = start("console", "--bootstrap", f"{HOST}:{port}", "--listen", f"{HOST}:0")
    address = console.port("kawal console http://")
    assert fetched(address, "/topics")[0] == 200
    gateway.end()
    status, html = fetched(address, "/topics")
    assert (status, f"cannot reach {HOST}:{port}" in html) == (503, True)
    start(*words).port("kawal ready ")
    assert fetched(address, "/topics")[0] == 200
