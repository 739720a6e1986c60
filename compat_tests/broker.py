"""The broker under test: the gateway or Apache Kafka, behind one small interface."""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from random import SystemRandom
from typing import Literal

from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually

Kind = Literal["kawal", "kafka"]

HOST = "127.0.0.1"

SERVER_PORTS = (10_000, 32_000)
"""The ports of servers; Linux gives its clients those from 32,768 on."""

EXTRA_LISTENERS = "extra.listeners"
"""The setting that names listeners beside PLAINTEXT; brokers never see it."""

API_VERSIONS_REQUEST = bytes.fromhex("0000000a 0012 0000 00000001 ffff")
"""ApiVersions v0, correlation id 1, null client id: the first request that any client may send."""


class Broker(ABC):
    """A broker with its data directory. `port` stays the same over restarts."""

    kind: Kind

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        """Prepare a broker in an empty `directory`; `settings` are broker configs by Kafka's names."""
        self.directory = directory
        self.settings = dict(settings)
        # Names of listeners beside the one without security, which is PLAINTEXT.
        self._names = [name for name in self.settings.pop(EXTRA_LISTENERS, "").split(",") if name]
        self._ports: dict[str, int] = {}
        self.port = 0
        self._process: ServerProcess | None = None

    @property
    def bootstrap(self) -> str:
        """The address, HOST:PORT, as clients take it."""
        return f"{HOST}:{self.port}"

    def bootstrap_of(self, listener: str) -> str:
        """Return the address of one of the other listeners; its name is in the certificates of tests."""
        return f"localhost:{self._ports[listener]}"

    @property
    def other_ports(self) -> dict[str, int]:
        """The ports of the listeners beside PLAINTEXT, once the broker was started."""
        return dict(self._ports)

    def _listeners(self, ports: int = 1) -> str:
        """Return the value of `listeners`, each with so many ports, which stay the same over restarts."""
        for name in self._names:
            if name not in self._ports:
                self._ports[name] = free_port(ports)
        others = (f"{name}://{HOST}:{port}" for name, port in self._ports.items())
        return ",".join([f"PLAINTEXT://{HOST}:{self.port}", *others])

    @property
    def was_started(self) -> bool:
        """Whether a process has been started."""
        return self._process is not None

    @property
    def process(self) -> ServerProcess:
        """The running (or last) process."""
        assert self._process is not None, "the broker was not started"
        return self._process

    @abstractmethod
    def start(self) -> None:
        """Start the process on the known port, or on a free one the first time, and wait until it answers."""

    def stop(self) -> tuple[int, float]:
        """End the process with SIGTERM; return its exit code and the seconds it took."""
        return self.process.terminate(within_seconds=60)

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self.process.kill()

    def restart(self) -> None:
        """Start again on the same port and data; the old process must have ended."""
        assert self.process.exit_code is not None, "the broker still runs: stop or kill it first"
        self.start()


def answers_api_versions(port: int) -> bool:
    """Return whether something on `port` answers an ApiVersions request."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as connection:
            connection.sendall(API_VERSIONS_REQUEST)
            return connection.recv(4) != b""
    except OSError:
        return False


def wait_until_it_answers(broker: Broker, *, within_seconds: float) -> None:
    """Wait for the first ApiVersions answer; fail at once, with the output, when the process ends."""

    def answered() -> bool:
        assert broker.process.exit_code is None, f"ended while starting: {broker.process.tail()}"
        return answers_api_versions(broker.port)

    eventually(answered, waiting_for=f"an answer on {broker.bootstrap}", within_seconds=within_seconds)


def free_port(count: int = 1) -> int:
    """Return the first of some ports on which nothing listens now; others could take them before their use.

    It lies below the ports that the system gives to clients: one of them might have it while the broker that
    is to listen there again is down.
    """
    while True:
        port = SystemRandom().randrange(*SERVER_PORTS)
        with ExitStack() as listeners, suppress(OSError):
            for number in range(count):
                listeners.enter_context(socket.socket()).bind((HOST, port + number))
            return port


def chosen_workers() -> int:
    """Return the number of workers that each gateway has, chosen by KAWAL_COMPAT_WORKERS."""
    return int(os.environ.get("KAWAL_COMPAT_WORKERS", "1"))


def chosen_kind() -> Kind:
    """Return the broker chosen by KAWAL_COMPAT_BROKER."""
    kind = os.environ.get("KAWAL_COMPAT_BROKER", "kawal")
    if kind not in ("kawal", "kafka"):
        raise ValueError(f"KAWAL_COMPAT_BROKER is {kind!r}: give 'kawal' or 'kafka'")
    return "kawal" if kind == "kawal" else "kafka"
