"""The views and groups of a topic."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from console.web import dependents
from console.web.dependents import Dependents, count_views, dependents_of
from console.wire import NotKawal
from tests.broker.groups import commit
from tests.broker.kit import create
from tests.console.web.kit import ADDRESS, Web


def found(web: Web, topic: str) -> Dependents:
    async def main() -> Dependents:
        return await web.console._everyone.run(dependents_of, ADDRESS, topic)

    return trio.run(main)


def test_views_and_groups_are_named_once_each() -> None:
    web = Web()
    client = web.broker.client()
    create(client, "t", partitions=2)
    create(client, "other")
    create(client, "v", partitions=2, kawal_sql="SELECT * FROM t")
    commit(client, "g", ("t", 0, 0), ("t", 1, 0))
    commit(client, "h", ("other", 0, 0))
    assert found(web, "t") == Dependents(["v"], ["g"])
    assert found(web, "v") == Dependents([], [])


def test_another_broker_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any) -> Any:
        raise NotKawal("closed")

    monkeypatch.setattr(dependents, "ask_private", closed)
    assert dependents_of("h:1", "t") == Dependents(None, None)
    assert count_views("h:1") is None
