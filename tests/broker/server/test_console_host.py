"""The web console's process: started when it is needed, never more often than allowed, never harmful."""

from __future__ import annotations

import logging
import subprocess
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from broker.config.config import config_of
from broker.config.endpoints import Endpoint
from broker.loop.internal_errors import InternalErrors
from broker.server.console_host import (
    NO_CONSOLE,
    STARTS_APART_SECONDS,
    ConsoleHost,
    ConsoleProgram,
    hand_over_of,
    url_of,
)
from broker.server.listeners import Listener


class FakeClient:
    """A browser that waits in the queue of the socket."""

    def __init__(self) -> None:
        self.told = b""

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *_: object) -> None: ...

    def setblocking(self, flag: bool) -> None:
        assert not flag

    def recv(self, _: int) -> bytes:
        return b"GET / HTTP/1.1\r\n\r\n"

    def send(self, data: bytes) -> None:
        self.told = data


class FakeListening:
    def __init__(self, *waiting: FakeClient) -> None:
        self.waiting = list(waiting)

    def fileno(self) -> int:
        return 7

    def getsockname(self) -> tuple[str, int]:
        return "0.0.0.0", 9645

    def accept(self) -> tuple[FakeClient, Any]:
        if not self.waiting:
            raise BlockingIOError
        return self.waiting.pop(0), None


class FakeStdin:
    def __init__(self) -> None:
        self.data = b""
        self.closed = trio.Event()

    async def send_all(self, data: bytes) -> None:
        await trio.lowlevel.checkpoint()
        self.data += data

    async def aclose(self) -> None:
        self.closed.set()
        await trio.lowlevel.checkpoint()


class FakeProcess:
    """A process that ends by itself after some time, or when its standard input does."""

    def __init__(self, seconds: float, status: int, *, stubborn: bool = False) -> None:
        self.stdin = FakeStdin()
        self.seconds, self.status, self.stubborn = seconds, status, stubborn
        self.killed = False
        self.ended = trio.Event()

    async def wait(self) -> int:
        with trio.move_on_after(self.seconds):
            if self.stubborn:
                await self.ended.wait()
            else:
                await self.stdin.closed.wait()
        return self.status

    def kill(self) -> None:
        self.killed = True
        self.ended.set()


class World:
    """A socket to which clients come, and processes that are started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *processes: Any) -> None:
        self.processes = list(processes)
        self.started: list[tuple[float, Any, dict[str, Any]]] = []
        self.listening = FakeListening()
        monkeypatch.setattr(trio.lowlevel, "wait_readable", self._readable)
        monkeypatch.setattr(trio.lowlevel, "open_process", self._open)
        monkeypatch.setenv("NOTIFY_SOCKET", "/run/notify")
        monkeypatch.setenv("WATCHDOG_USEC", "1")
        self.errors = InternalErrors()
        listening: Any = self.listening
        program = ConsoleProgram(("python", "-m", "console.web"), {"PYTHONPATH": "/here"}, print)
        self.host = ConsoleHost(listening, program, {"bootstrap": "b:1"}, self.errors)

    async def _readable(self, _: object) -> None:
        if not self.processes:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()

    async def _open(self, command: Any, **options: Any) -> Any:
        await trio.lowlevel.checkpoint()
        self.started.append((trio.current_time(), command, options))
        process = self.processes.pop(0)
        if isinstance(process, Exception):
            raise process
        return process

    def run(self, seconds: float) -> float:
        """Run for so long and return when it had ended."""

        async def main() -> float:
            with trio.move_on_after(seconds):
                await self.host.run()
            return trio.current_time()

        return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_it_is_given_the_socket_and_a_line_and_no_word_to_the_supervisor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = FakeProcess(60, 0)
    world = World(monkeypatch, process)
    world.run(100)
    ((_, command, options),) = world.started
    assert command == ["python", "-m", "console.web"]
    assert options["pass_fds"] == [7]
    assert options["stdin"] == subprocess.PIPE
    assert options["env"]["PYTHONPATH"] == "/here"
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC"} & options["env"].keys()
    assert msgspec.json.decode(process.stdin.data) == {"bootstrap": "b:1", "listening": 7}


def test_starts_are_ten_seconds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(
        monkeypatch, FakeProcess(0.1, 1), FakeProcess(0.1, 1), FakeProcess(60, 0), FakeProcess(1, 0)
    )
    world.run(200)
    times = [time - world.started[0][0] for time, *_ in world.started]
    assert times[:3] == pytest.approx([0, STARTS_APART_SECONDS, 2 * STARTS_APART_SECONDS])
    assert times[3] == pytest.approx(2 * STARTS_APART_SECONDS + 60)


def test_one_that_breaks_is_in_the_log_and_browsers_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(monkeypatch, FakeProcess(0.5, 1), OSError(12, "Cannot allocate memory"))
    browsers = [FakeClient(), FakeClient()]
    world.listening.waiting = list(browsers)
    world.run(5)
    assert "ended after 0.5 s with status 1" in caplog.text
    assert [browser.told for browser in browsers] == [NO_CONSOLE, NO_CONSOLE]
    world.run(30)
    assert "cannot be started: [Errno 12] Cannot allocate memory" in caplog.text


def test_an_error_of_ours_is_noted_and_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, ZeroDivisionError("on purpose"), FakeProcess(1, 0))
    world.run(30)
    assert sum(world.errors.counts.values()) == 1
    assert len(world.started) == 2


def test_one_that_was_idle_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    World(monkeypatch, FakeProcess(900, 0)).run(2000)
    assert caplog.text == ""


def test_it_ends_with_the_server_if_need_be_by_force(monkeypatch: pytest.MonkeyPatch) -> None:
    gentle, stubborn = FakeProcess(1e9, 0), FakeProcess(1e9, 0, stubborn=True)
    for process in (gentle, stubborn):
        World(monkeypatch, process).run(5)
        assert process.stdin.closed.is_set()
    assert (gentle.killed, stubborn.killed) == (False, True)


def test_what_is_said_without_a_console_is_http() -> None:
    head, _, body = NO_CONSOLE.partition(b"\r\n\r\n")
    assert b"Content-Length: %d\r\n" % len(body) in head


@pytest.mark.parametrize(
    ("bound", "bootstrap"),
    [("127.0.0.1", "127.0.0.1:1"), ("0.0.0.0", "127.0.0.1:1"), ("::", "[::1]:1"), ("10.0.0.7", "10.0.0.7:1")],
)
def test_the_console_reaches_the_server_where_it_listens(bound: str, bootstrap: str) -> None:
    listener = Listener(None, Endpoint(bound, 1), None)  # type: ignore[arg-type]
    assert hand_over_of(config_of({}), [listener], None)["bootstrap"] == bootstrap


def test_the_easiest_listener_is_taken() -> None:
    config = config_of({"listeners": "SASL_PLAINTEXT://127.0.0.1:2,PLAINTEXT://127.0.0.1:1"})
    listeners = [
        Listener(None, Endpoint("127.0.0.1", 2), None, name="SASL_PLAINTEXT"),  # type: ignore[arg-type]
        Listener(None, Endpoint("127.0.0.1", 1), None),  # type: ignore[arg-type]
    ]
    assert hand_over_of(config, listeners, None)["protocol"] == "PLAINTEXT"
    found = hand_over_of(config, listeners[:1], None)
    assert (found["protocol"], found["mechanism"]) == ("SASL_PLAINTEXT", "SCRAM-SHA-512")


class Bound:
    """A socket of HTTP, bound to a host."""

    def __init__(self, host: str) -> None:
        self._host = host

    def getsockname(self) -> tuple[str, int]:
        return self._host, 9644


@pytest.mark.parametrize(
    ("host", "told"),
    [("127.0.0.1", "127.0.0.1:9644"), ("::1", "[::1]:9644"), ("10.0.0.7", ""), ("0.0.0.0", "")],
)
def test_metrics_are_told_where_they_need_no_login(host: str, told: str) -> None:
    listener = Listener(None, Endpoint("127.0.0.1", 1), None)  # type: ignore[arg-type]
    bound: Any = Bound(host)
    assert hand_over_of(config_of({}), [listener], bound)["metrics"] == told
    assert hand_over_of(config_of({}), [listener], None)["metrics"] == ""


def test_people_are_told_an_address_that_they_can_open() -> None:
    listening: Any = FakeListening()
    assert url_of(listening) == "http://127.0.0.1:9645"
