"""Commands against a whole broker in memory: their requests reach it without a socket.

gateway = connect(monkeypatch)
assert main(["configs", "describe", "topic", "orders"]) == 0
"""

from __future__ import annotations

from typing import Any

import pytest

from console import admin
from tests.broker.gateway import Gateway


def connect(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Gateway:
    """Return a broker that answers every request of `console.admin`."""
    gateway = Gateway(**settings)

    def ask(_bootstrap: str, request: Any, version: int) -> Any:
        return gateway.client().call(request, version)

    monkeypatch.setattr(admin, "ask_server", ask)
    return gateway
