"""Two servers in memory, by their addresses, for tests of what goes from one to the other."""

from __future__ import annotations

from typing import Any

import pytest

from console import admin, database_admin
from console.sql.session import Session
from tests.broker.gateway import Gateway

HERE, THERE = "here:9092", "there:9092"


def two_servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Gateway]:
    """Return the servers that answer at HERE and THERE."""
    gateways = {HERE: Gateway(), THERE: Gateway()}

    def ask(bootstrap: str, request: Any, version: int = 0) -> Any:
        return gateways[bootstrap].client().call(request, version)

    monkeypatch.setattr(admin, "ask_server", ask)
    monkeypatch.setattr(database_admin, "ask", ask)
    return gateways


def sessions() -> tuple[Session, Session]:
    """Return sessions with both."""
    return Session(HERE), Session(THERE)
