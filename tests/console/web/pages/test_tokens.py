"""Delegation tokens in a browser."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from tests.broker.delegation import create, logged_in, token_gateway
from tests.console.web.kit import Web


def test_a_token_is_shown_with_its_times_and_without_what_proves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway), "bob")
    assert token.error_code == 0
    client = logged_in(gateway)
    monkeypatch.setattr(gateway, "client", lambda _: client)
    web = Web(broker=gateway)
    page = web.get("/tokens")
    assert page.status == 200
    assert token.token_id in page.text
    (row,) = json.loads(web.get("/tokens?as=json").body)
    assert (row["owner"], row["renewers"]) == ("User:alice", ["User:bob"])
    assert row["issued_ms"] < row["expires_ms"] <= row["latest_ms"]
    told = page.body + web.get("/tokens?as=jsonl").body + web.get("/tokens?as=csv").body
    assert token.hmac not in told
    assert b64encode(token.hmac) not in told
    assert token.hmac.hex().encode() not in told


def test_a_broker_without_tokens_says_how_it_has_some() -> None:
    page = Web().get("/tokens")
    assert page.status == 200
    assert "delegation.token.secret.key" in page.text or "listener with SASL" in page.text


def test_those_who_may_look_only_see_tokens_too() -> None:
    assert Web(read_only=True).get("/tokens").status == 200
