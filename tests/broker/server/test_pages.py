"""The pages of a broker: metrics, liveness, readiness."""

from __future__ import annotations

import threading

import pytest
import trio

from broker.coordinators import coordinators
from broker.server.http_conversation import HttpRequest, Page
from broker.server.pages import pages_of
from broker.view_topics import view_loading
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create


def page(gateway: Gateway, path: str) -> Page:
    async def make() -> Page:
        return await pages_of(gateway.broker, lambda: gateway.now_ms)[path].make(
            HttpRequest("GET", path, "", {}, b"")
        )

    return trio.run(make)


def test_metrics_are_text_for_prometheus() -> None:
    gateway = Gateway()
    gateway.broker.store.path = "/"  # the simulated directory is on no file system
    found = page(gateway, "/metrics")
    assert found.status == 200
    assert b"\nkawal_connections 0.0\n" in found.body
    assert found.content_type.startswith("text/plain; version=")


def test_what_opens_the_partitions_of_views_is_imported_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway()
    gateway.broker.store.path = "/"
    threads: list[threading.Thread] = []
    monkeypatch.setattr(view_loading, "is_loaded", lambda: False)
    monkeypatch.setattr(view_loading, "load", lambda: threads.append(threading.current_thread()))
    page(gateway, "/metrics")
    assert threads == [], "there are no views"
    client = gateway.client()
    create(client, "t")
    create(client, "same", -1, **{"kawal.alias.of": "t"})
    page(gateway, "/metrics")
    assert threads[-1] is not threading.main_thread()


def test_the_first_metrics_have_the_group_coordinator_imported_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway()
    gateway.broker.store.path = "/"
    threads: list[threading.Thread] = []
    coordinators.import_groups()
    monkeypatch.setattr(coordinators, "import_groups", lambda: threads.append(threading.current_thread()))
    page(gateway, "/metrics")
    monkeypatch.setattr(coordinators, "is_imported", lambda: False)
    page(gateway, "/metrics")
    assert len(threads) == 1, "it was imported before"
    assert threads[0] is not threading.main_thread()


def test_a_server_that_answers_is_alive() -> None:
    assert page(Gateway(), "/healthz") == Page(b"ok\n")


def test_a_server_is_ready_until_it_stops_and_says_why_not() -> None:
    gateway = Gateway()
    assert page(gateway, "/readyz") == Page(b"ready\n")
    gateway.broker.begin_stop(START_MS)
    assert page(gateway, "/readyz") == Page(b"the server is stopping\n", 503)
