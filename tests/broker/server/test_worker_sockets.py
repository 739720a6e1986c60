"""Ports of workers: in a row for each listener, or refused in a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.config import Config, config_of
from broker.server import worker_sockets
from broker.server.listeners import StartError
from broker.server.worker_sockets import TRIES, bind_listeners, check_ports


class FakeSocket:
    """A bound socket."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.closed = False

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def close(self) -> None:
        self.closed = True


class Ports:
    """A machine on which some ports are taken, and that gives these free ones in turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, free: list[int], taken: set[int]) -> None:
        self.free, self.taken = free, taken
        self.bound: list[FakeSocket] = []
        monkeypatch.setattr(worker_sockets, "bind", self._bind)

    def _bind(self, spec: Any, _: Config) -> FakeSocket:
        port = spec.endpoint.port or self.free.pop(0)
        if port in self.taken:
            raise StartError(f"port {port} is taken")
        self.bound.append(FakeSocket(port))
        return self.bound[-1]

    @property
    def left_open(self) -> list[int]:
        return [sock.port for sock in self.bound if not sock.closed]


def ports_of(rows: list[list[Any]]) -> list[list[int]]:
    return [[sock.port for sock in row] for row in rows]


TWO = {
    "listeners": "A://127.0.0.1:9092,B://127.0.0.1:9192",
    "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
}


def test_each_listener_has_ports_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    Ports(monkeypatch, free=[], taken=set())
    rows = bind_listeners(config_of(TWO), 3)
    assert ports_of(rows) == [[9092, 9192], [9093, 9193], [9094, 9194]]


def test_free_ports_are_looked_for_until_there_are_enough_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = Ports(monkeypatch, free=[100, 65_535, 200], taken={102})
    rows = bind_listeners(config_of({"listeners": "127.0.0.1:0"}), 3)
    assert ports_of(rows) == [[200], [201], [202]]
    assert ports.left_open == [200, 201, 202]


def test_a_port_in_use_is_an_error_and_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = Ports(monkeypatch, free=[], taken={9193})
    with pytest.raises(StartError, match="9193"):
        bind_listeners(config_of(TWO), 2)
    assert ports.left_open == []


def test_the_search_for_free_ports_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = Ports(monkeypatch, free=[100] * TRIES, taken={101})
    with pytest.raises(StartError, match="no 2 free ports in a row"):
        bind_listeners(config_of({"listeners": "127.0.0.1:0"}), 2)
    assert ports.left_open == []


def test_listeners_whose_ports_would_overlap_are_refused() -> None:
    close = config_of(TWO | {"listeners": "A://127.0.0.1:9092,B://127.0.0.1:9094"})
    check_ports(close.specs, 2)
    with pytest.raises(StartError, match="ports 9092 and 9094 overlap"):
        check_ports(close.specs, 3)


def test_ports_end_at_the_last_one() -> None:
    specs = config_of({"listeners": "127.0.0.1:65534"}).specs
    check_ports(specs, 2)
    with pytest.raises(StartError, match="none above 65535"):
        check_ports(specs, 3)


def test_one_port_for_both_kinds_of_addresses_is_no_overlap() -> None:
    config = config_of(TWO | {"listeners": "A://127.0.0.1:9092,B://[::1]:9092"})
    check_ports(config.specs, 3)
