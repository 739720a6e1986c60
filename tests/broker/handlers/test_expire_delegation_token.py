"""ExpireDelegationToken: at once or later, who may, and what becomes of connections."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest
from tests.broker.delegation import (
    DAY_MS,
    create,
    described_ids,
    expire,
    logged_in,
    token_gateway,
    token_login,
)
from tests.broker.gateway import Gateway
from tests.broker.logins import LoginGateway

MAX_MS = (1 << 63) - 1


def test_a_negative_period_removes_the_token_at_once_and_for_ever() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    token = create(client)
    assert expire(client, token.hmac) == (0, gateway.now_ms)
    assert described_ids(client, everything=True) == []
    assert token_login(gateway.login_client(), token.token_id, token.hmac).error_code != 0
    gateway.crash()
    assert described_ids(logged_in(gateway), everything=True) == []
    assert expire(logged_in(gateway), token.hmac) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)


def test_another_period_sets_the_expiry_within_the_tokens_life() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    token = create(client, lifetime_ms=2 * DAY_MS)
    assert expire(client, token.hmac, 0) == (0, gateway.now_ms)
    gateway.advance(1)
    assert expire(client, token.hmac, 5) == (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)
    other = create(client, lifetime_ms=2 * DAY_MS)
    assert expire(client, other.hmac, 5) == (0, gateway.now_ms + 5)
    assert expire(client, other.hmac, MAX_MS) == (0, other.max_timestamp_ms)


def test_the_owner_is_told_before_expired_and_an_expired_token_can_be_removed() -> None:
    gateway = token_gateway(delegation_token_expiry_time_ms=1000)
    alice, bob = logged_in(gateway), logged_in(gateway, "bob")
    token = create(alice)
    gateway.advance(1001)
    assert expire(bob, token.hmac, 5) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert expire(alice, token.hmac, 5) == (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)
    assert expire(alice, token.hmac)[0] == 0


def test_renewers_may() -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway), "bob")
    assert expire(logged_in(gateway, "bob"), token.hmac)[0] == 0


def test_a_connection_lasts_until_the_end_that_its_client_was_told() -> None:
    gateway = token_gateway(delegation_token_expiry_time_ms=10_000)
    alice = logged_in(gateway)
    token = create(alice)
    client = gateway.login_client()
    assert token_login(client, token.token_id, token.hmac).session_lifetime_ms == 10_000
    expire(alice, token.hmac)
    gateway.advance(9_000)
    assert client.call(MetadataRequest(topics=None), 12).topics == []
    gateway.advance(1_001)
    client.send(MetadataRequest(topics=None), 12)
    assert client.connection.close_reason is not None
    assert "session is over" in client.connection.close_reason


def test_unknown_tokens_and_those_who_may_not_ask() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    assert expire(client, b"x") == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert expire(gateway.client(), b"") == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    assert expire(Gateway().client(), b"") == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    assert expire(logged_in(LoginGateway()), b"") == (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0)
