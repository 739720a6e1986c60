"""`kawal serve` as a process of its own, with standard output and error kept apart."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from compat_tests.kawal_broker import KAWAL
from compat_tests.waiting import eventually


class Served:
    """One server."""

    def __init__(self, directory: Path, *arguments: str, **environment: str) -> None:
        self.out, self.err = directory / "out", directory / "err"
        self.started = time.monotonic()
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [KAWAL, "serve", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=directory,
                env={**os.environ, **environment},
            )

    def wait_until_ready(self) -> int:
        """Wait for the ready line and return the port it names."""

        def line() -> re.Match[str] | None:
            assert self.process.poll() is None, f"ended: {self.err.read_text()}"
            return re.match(r"kawal ready 127\.0\.0\.1:(\d+)\n", self.out.read_text())

        return int(eventually(line, waiting_for="the ready line")[1])

    def end(self, sent: signal.Signals = signal.SIGTERM) -> float:
        """Send a signal, expect exit code 0 and return the seconds it took."""
        began = time.monotonic()
        self.process.send_signal(sent)
        assert self.process.wait(60) == 0, self.err.read_text()
        return time.monotonic() - began

    def refusal(self) -> str:
        """Expect the process to end with an error and one line on standard error; return that line."""
        assert self.process.wait(60) in (1, 2)
        assert self.out.read_text() == ""
        lines = self.err.read_text().splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("kawal: ")
        return lines[0]


Kind = TypeVar("Kind", bound=Served)


@contextmanager
def serving(kind: type[Kind], place: Path, *defaults: str) -> Iterator[Callable[..., Kind]]:
    """Yield a function that starts servers with data in `place/data`; later flags win, and all end here."""
    served: list[Kind] = []

    def start(*arguments: str, **environment: str) -> Kind:
        own = place / f"served-{len(served)}"
        own.mkdir()
        served.append(kind(own, "--data", str(place / "data"), *defaults, *arguments, **environment))
        return served[-1]

    yield start
    for server in served:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait(60)


def check_that_a_supervisor_hears_of_one_life(serve: Callable[..., Any]) -> None:
    """Start a server as systemd does, and expect to be told of its start, its life and its stop."""
    name = f"kawal-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(f"\0{name}")
        supervisor.settimeout(60)
        served = serve(NOTIFY_SOCKET=f"@{name}", WATCHDOG_USEC="200000")
        assert [supervisor.recv(100) for _ in range(4)] == [b"READY=1", *[b"WATCHDOG=1"] * 3]
        served.end()
        while (state := supervisor.recv(100)) == b"WATCHDOG=1":
            continue
        assert state == b"STOPPING=1"
