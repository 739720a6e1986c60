"""A session whose requests reach a whole broker in memory, without a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console import admin, database_admin, group_rows
from console.sql.session import Session
from console.sql.statements import run
from tests.broker.gateway import START_MS, Gateway


class Sql:
    """Statements against a broker: `sql("SHOW TOPICS")` returns the sentence, or the rows as dicts."""

    def __init__(self, gateway: Gateway, session: Session) -> None:
        self.gateway = gateway
        self.session = session

    def __call__(self, text: str) -> Any:
        result = run(self.session, text)
        return result.said or result.as_tree()


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sql]:
    """Return a function that starts a broker with these settings and returns a session with it."""

    def connected(**settings: Any) -> Sql:
        gateway = Gateway(**settings)

        def ask(_bootstrap: str, request: Any, version: int = 0) -> Any:
            return gateway.client().call(request, version)

        monkeypatch.setattr(admin, "ask_server", ask)
        monkeypatch.setattr(database_admin, "ask", ask)
        monkeypatch.setattr(group_rows, "ask", ask)
        monkeypatch.setattr(Session, "now_ms", lambda _: START_MS)
        return Sql(gateway, Session("h:1"))

    return connected


@pytest.fixture
def sql(connect: Callable[..., Sql]) -> Sql:
    """Return a session with a broker."""
    return connect()
