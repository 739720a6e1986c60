"""RenewDelegationToken: who may, until when, and which error is told first."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.delegation import DAY_MS, create, logged_in, renew, token_gateway, token_login
from tests.broker.gateway import Gateway
from tests.broker.logins import LoginGateway

MAX_MS = (1 << 63) - 1


@pytest.mark.parametrize(
    ("period_ms", "expected_ms"),
    [(-1, DAY_MS), (0, DAY_MS), (5, 5), (2 * DAY_MS, DAY_MS), (MAX_MS, DAY_MS)],
)
def test_a_token_is_renewed_for_the_servers_period_at_most(period_ms: int, expected_ms: int) -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    token = create(client)
    gateway.advance(1000)
    assert renew(client, token.hmac, period_ms) == (0, gateway.now_ms + expected_ms)


def test_and_never_beyond_its_end() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    token = create(client, lifetime_ms=5000)
    gateway.advance(1000)
    assert renew(client, token.hmac) == (0, token.max_timestamp_ms)


def test_it_is_valid_until_then_also_after_a_restart() -> None:
    gateway = token_gateway(delegation_token_expiry_time_ms=10_000)
    client = logged_in(gateway)
    token = create(client)
    gateway.advance(9_000)
    renew(client, token.hmac)
    gateway.advance(9_000)
    gateway.crash()
    assert token_login(gateway.login_client(), token.token_id, token.hmac).error_code == 0
    gateway.advance(1_001)
    assert token_login(gateway.login_client(), token.token_id, token.hmac).error_code != 0


def test_owner_and_renewers_may_and_the_requester_may_not() -> None:
    gateway = token_gateway()
    alice, bob = logged_in(gateway), logged_in(gateway, "bob")
    assert renew(bob, create(alice, "bob").hmac)[0] == 0
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert renew(bob, create(alice, "zoe").hmac) == (mismatch, 0)
    of_bob = create(alice, owner="bob").hmac
    assert renew(alice, of_bob) == (mismatch, 0)
    assert renew(bob, of_bob)[0] == 0


def test_expired_is_told_before_the_owner() -> None:
    gateway = token_gateway(delegation_token_expiry_time_ms=1000)
    alice, bob = logged_in(gateway), logged_in(gateway, "bob")
    token = create(alice)
    gateway.advance(1000)
    assert renew(bob, token.hmac)[0] == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    gateway.advance(1)
    for client in (alice, bob):
        assert renew(client, token.hmac) == (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)


def test_unknown_tokens_and_those_who_may_not_ask() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    for hmac in (b"", b"x", b"x" * 64):
        assert renew(client, hmac) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert renew(gateway.client(), b"") == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    assert renew(Gateway().client(), b"") == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    disabled = logged_in(LoginGateway())
    assert renew(disabled, b"") == (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0)
    token = create(client)
    by_token = gateway.login_client()
    token_login(by_token, token.token_id, token.hmac)
    assert renew(by_token, token.hmac) == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
