"""A whole server on a simulated disk, for the commands about databases."""

from __future__ import annotations

from typing import Any

import pytest

from console import database_admin
from tests.broker.gateway import Gateway


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a server that answers the requests of the commands."""
    gateway = Gateway()

    def ask(_bootstrap: str, request: Any) -> Any:
        return gateway.client().call(request, 0)

    monkeypatch.setattr(database_admin, "ask", ask)
    return gateway
