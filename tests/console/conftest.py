"""The fixtures of the tests of commands: brokers in memory, and a data directory on the real disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console import database_admin
from tests.broker.gateway import Gateway
from tests.console.bench import connect_links
from tests.console.gateway import connect
from tests.console.stored import make_data


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a broker that answers every request of `console.admin`; files that need topics override it."""
    return connect(monkeypatch)


@pytest.fixture
def linked_gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a broker that answers the requests of `kawal bench`."""
    return connect_links(monkeypatch)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a server that answers the requests of the commands about databases."""
    gateway = Gateway()

    def ask(_bootstrap: str, request: Any) -> Any:
        return gateway.client().call(request, 0)

    monkeypatch.setattr(database_admin, "ask", ask)
    return gateway


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data directory as `make_data` makes it."""
    return make_data(tmp_path)
