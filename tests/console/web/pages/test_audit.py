"""The audit log in a browser."""

from __future__ import annotations

import pytest

from tests.broker.audited import Audited
from tests.broker.kit import create
from tests.console.web.kit import Web


def test_without_the_topic_the_page_says_how_events_are_kept() -> None:
    page = Web().get("/audit")
    assert page.status == 200
    assert "kawal.audit.topic" in page.text
    assert "kawal audit" in page.text


def test_with_the_topic_it_leads_to_the_events_with_their_members_as_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = Audited(kawal_audit_topic=True)
    create(broker.admin, "orders")
    monkeypatch.setattr(broker, "client", lambda _: broker.admin)
    web = Web(broker=broker)
    answer = web.get("/audit")
    assert answer.status == 303
    page = web.get(answer.headers["location"])
    assert page.status == 200
    assert "topic.created" in page.text
    assert '<th scope="col">event</th>' in page.html


def test_while_the_broker_is_away_it_is_503() -> None:
    web = Web()
    web.away = True
    assert web.get("/audit").status == 503
