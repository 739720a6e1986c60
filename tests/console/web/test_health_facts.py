"""The health of a broker."""

from __future__ import annotations

from typing import Any

import pytest

from console.web import health_facts
from console.web.health_facts import health_of
from console.wire import NotKawal
from tests.console.web.kit import ADDRESS, Web


def test_a_broker_tells_its_apis_and_brokers() -> None:
    web = Web()
    with web.at_work():
        facts = health_of(ADDRESS)
    assert facts.apis > 50
    assert facts.milliseconds >= 0
    assert facts.kawal
    assert [node for node, _ in facts.brokers] == [1]


def test_a_broker_that_does_not_know_our_request_is_not_kawal(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any) -> Any:
        raise NotKawal("closed")

    monkeypatch.setattr(health_facts, "ask", closed)
    web = Web()
    with web.at_work():
        assert not health_of(ADDRESS).kawal
