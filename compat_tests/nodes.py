"""A cluster of several `kawal serve --node I`, each with a directory and ports of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compat_tests.broker import HOST, free_port
from compat_tests.kawal_broker import KawalBroker

SECRET = "0123456789abcdef0123456789abcdef"


class NodeBroker(KawalBroker):
    """One node; the port of PLAINTEXT is known before it starts, as the others' settings name it."""

    workers = 1

    def __init__(self, directory: Path, number: int, settings: Mapping[str, str]) -> None:
        super().__init__(directory, settings)
        self.number = number
        self.wrap = lambda command: [*command, "--node", str(number)]


class NodesCluster:
    """Some nodes on 127.0.0.1, with two write-ahead logs for each if `settings` do not differ."""

    def __init__(self, directory: Path, count: int, **settings: str) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.secret = write_secret(directory / "secret", SECRET)
        self._settings = {"kawal.vnodes": str(2 * count), **settings}
        ports = [free_port() for _ in range(count)]
        self.addresses = ",".join(f"{HOST}:{port}" for port in ports)
        self.nodes = [self._node(number, port) for number, port in enumerate(ports)]

    def _node(self, number: int, port: int) -> NodeBroker:
        node = NodeBroker(self.directory / f"node-{number}", number, self.settings())
        node.port = port
        return node

    def settings(self) -> dict[str, str]:
        """Return the settings that all nodes share."""
        return {
            "kawal.cluster.nodes": self.addresses,
            "kawal.cluster.secret.file": str(self.secret),
            **self._settings,
        }

    def secure_ports(self, listener: str) -> list[int]:
        """Choose the ports of another listener, and let the nodes reach each other there; return them."""
        for node in self.nodes:
            node._ports[listener] = free_port()
        self.addresses = ",".join(node.bootstrap_of(listener) for node in self.nodes)
        for node in self.nodes:
            node.settings["kawal.cluster.nodes"] = self.addresses
        return [node._ports[listener] for node in self.nodes]

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes."""
        return ",".join(node.bootstrap for node in self.nodes)

    @property
    def workers(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    @property
    def ids(self) -> list[int]:
        """The node ids of all."""
        return [1 + node.number for node in self.nodes]

    def __getitem__(self, number: int) -> NodeBroker:
        return self.nodes[number]

    def start(self) -> None:
        """Start all, the controller first, and wait until they answer."""
        for node in self.nodes:
            node.start()

    def stop(self) -> list[int]:
        """End all, the controller last; return their exit codes."""
        return [node.stop()[0] for node in reversed(self.nodes)]

    def kill(self) -> None:
        """End what runs with SIGKILL."""
        for node in self.nodes:
            if node.was_started and node.process.exit_code is None:
                node.kill()


def write_secret(path: Path, text: str) -> Path:
    """Write a secret that only its owner can read."""
    path.write_text(text)
    path.chmod(0o600)
    return path


def as_broker(cluster: NodesCluster) -> Any:
    """Return the cluster as helpers take it that only need an address."""
    return cluster
