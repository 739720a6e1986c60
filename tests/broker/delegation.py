"""Delegation tokens as a test asks for them, and logins with them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.broker.gateway import Client
from tests.broker.logins import LoginGateway, ScramClient, choose, give, log_in, plain_token

KEY = "the key of all tokens"

DAY_MS = 86_400_000

USERS = {"alice": "secret", "bob": "b"}


def token_gateway(**settings: Any) -> LoginGateway:
    """Return a gateway with logins and tokens."""
    return LoginGateway(**{"delegation_token_secret_key": KEY} | settings)


def logged_in(gateway: LoginGateway, user: str = "alice") -> Client:
    """Return a connection of a user that has shown its password."""
    client = gateway.login_client()
    assert log_in(client, plain_token(user, USERS[user])).error_code == 0
    return client


def create(client: Client, *renewers: str, owner: str | None = None, lifetime_ms: int = -1) -> Any:
    """Ask for a token, and return the answer."""
    request = CreateDelegationTokenRequest(
        owner_principal_type=None if owner is None else "User",
        owner_principal_name=owner,
        renewers=[CreatableRenewers(principal_type="User", principal_name=name) for name in renewers],
        max_lifetime_ms=lifetime_ms,
    )
    return client.call(request, 3)


def renew(client: Client, hmac: bytes, period_ms: int = -1) -> tuple[int, int]:
    """Renew a token; return the error code and the time of expiry."""
    answer = client.call(RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms), 2)
    return answer.error_code, answer.expiry_timestamp_ms


def expire(client: Client, hmac: bytes, period_ms: int = -1) -> tuple[int, int]:
    """Expire a token; return the error code and the time of expiry."""
    answer = client.call(ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms), 2)
    return answer.error_code, answer.expiry_timestamp_ms


def describe(client: Client, *owners: str, everything: bool = False) -> Any:
    """Ask for the tokens of these owners, or for all."""
    named = [DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in owners]
    return client.call(DescribeDelegationTokenRequest(owners=None if everything else named), 3)


def described_ids(client: Client, *owners: str, everything: bool = False) -> list[str]:
    """Return the ids of these tokens."""
    answer = describe(client, *owners, everything=everything)
    assert answer.error_code == 0
    return [token.token_id for token in answer.tokens]


def token_login(
    client: Client, token_id: str, hmac: bytes, mechanism: str = "SCRAM-SHA-256", extension: str = "true"
) -> Any:
    """Log in with a token; return the last answer."""
    scram = ScramClient(mechanism, token_id, b64encode(hmac).decode(), extensions=f",tokenauth={extension}")
    assert choose(client, mechanism) == 0
    first = give(client, scram.first)
    if first.error_code:
        return first
    last = give(client, scram.final(bytes(first.auth_bytes)))
    if not last.error_code:
        assert bytes(last.auth_bytes) == scram.signature
    return last
