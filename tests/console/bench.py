"""Links of `kawal bench` to a broker in memory."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import pytest

from console import bench_load
from tests.broker.gateway import Gateway
from tests.console.gateway import connect

_one_at_a_time = threading.Lock()


class GatewayLink:
    """A link to a broker that answers at once."""

    gateway: Gateway

    def __init__(self, _address: str) -> None:
        self._client = self.gateway.client()
        self._answers: deque[Any] = deque()

    def __enter__(self) -> GatewayLink:
        return self

    def __exit__(self, *_: object) -> None: ...

    @property
    def in_flight(self) -> int:
        return len(self._answers)

    def send(self, request: Any, version: int) -> None:
        with _one_at_a_time:
            self._answers.append(self._client.call(request, version))

    def receive(self) -> Any:
        return self._answers.popleft()

    def call(self, request: Any, version: int) -> Any:
        self.send(request, version)
        return self.receive()


def connect_links(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Gateway:
    """Return a broker that answers the requests of `kawal bench`."""
    gateway = connect(monkeypatch, **settings)
    link = type("Linked", (GatewayLink,), {"gateway": gateway})
    monkeypatch.setattr(bench_load, "Link", link)
    monkeypatch.setattr(bench_load, "wall_ms", lambda: gateway.now_ms)
    return gateway
