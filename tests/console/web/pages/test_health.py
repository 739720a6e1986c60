"""The health of a broker in a browser."""

from __future__ import annotations

import json

import pytest

from console.web.gateway_metrics import GatewayFigures, RemoteFigures
from console.web.pages import health
from console.web.visit import Gateway
from tests.console.doctor.machine import FakeFacts
from tests.console.web.kit import Web


def test_a_broker_that_answers_is_told_with_its_address() -> None:
    web = Web()
    page = web.get("/health")
    assert page.status == 200
    assert "answers" in page.text
    assert "It is Kawal." in page.text
    (row,) = json.loads(web.get("/health?as=json").body)
    assert row["answers"] is True
    assert row["apis"] > 50


def test_a_broker_that_is_away_is_503_with_what_to_do_and_heals() -> None:
    web = Web()
    web.away = True
    page = web.get("/health")
    assert (page.status, "cannot reach" in page.problem) == (503, True)
    assert "The console runs" in page.text
    assert "kawal doctor" in page.text
    assert web.get("/health?as=json").status == 503
    web.away = False
    assert web.get("/health").status == 200


def test_the_doctor_s_findings_are_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.web.findings.Facts", FakeFacts)
    web = Web(gateway=Gateway(("--data=/nowhere", "--listen=127.0.0.1:0")))
    assert web.get("/health").links("What the doctor finds") == ["/health/findings"]
    page = web.get("/health/findings")
    assert page.status == 200
    assert "/nowhere" in page.text
    rows = json.loads(web.get("/health/findings?as=json").body)
    assert {"check", "verdict", "text", "advice"} == set(rows[0])


def test_what_the_gateway_counts_is_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.web.findings.Facts", FakeFacts)
    figures = GatewayFigures(1234, 0.8, 4.19, 1, 2, 3, 0)
    monkeypatch.setattr(health, "read_figures", lambda _: figures)
    page = Web(gateway=Gateway(("--data=/nowhere",))).get("/health/findings")
    assert "1,234, 0.8 ms on average, 99 of 100 within 4.19 ms" in page.text
    assert "2 connections by limits, 3 by TLS or a login" in page.text


@pytest.mark.parametrize(
    ("remote", "told"),
    [
        (RemoteFigures(4.5, 0, 0, False), "4.5 s old"),
        (
            RemoteFigures(4.5, 2, 1, False),
            "cannot be restored yet : 2 closed segments missing; 1 round failed",
        ),
        (RemoteFigures(None, 0, 3, True), "stopped until the next start"),
        (RemoteFigures(None, 0, 0, False), "not told yet"),
    ],
)
def test_the_copy_in_an_object_store_is_told(
    monkeypatch: pytest.MonkeyPatch, remote: RemoteFigures, told: str
) -> None:
    monkeypatch.setattr("console.web.findings.Facts", FakeFacts)
    monkeypatch.setattr(health, "read_figures", lambda _: GatewayFigures(0, None, None, 0, 0, 0, 0, remote))
    assert told in Web(gateway=Gateway(("--data=/nowhere",))).get("/health/findings").text


def test_it_is_asked_by_a_console_that_is_read_only() -> None:
    assert Web(read_only=True).get("/health").status == 200
