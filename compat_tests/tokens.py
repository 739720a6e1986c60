"""Delegation tokens of a broker: made over a listener with logins, and shown by clients."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import Any, Final

from compat_tests.broker import Broker
from compat_tests.logins import choose, give, log_in, raw_client
from compat_tests.wire import RawClient
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

TOKEN_SETTINGS: Final = {"delegation.token.secret.key": "the key of all tokens"}
"""Settings of a broker with tokens."""


def logged_in(broker: Broker, user: str, listener: str = "SASL") -> RawClient:
    """Connect, and log in with the user's password."""
    client = raw_client(broker, listener)
    log_in(client, user)
    return client


def create(client: RawClient, *renewers: str, lifetime_ms: int = -1, version: int = 3, **other: Any) -> Any:
    """Ask for a token; return the answer."""
    renewers_type = other.pop("renewers_type", "User")
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers(principal_type=renewers_type, principal_name=name) for name in renewers],
        max_lifetime_ms=lifetime_ms,
        **other,
    )
    return client.call(request, version)


def for_owner(name: str, kind: str | None = "User") -> dict[str, Any]:
    """Return the fields of a request for another owner."""
    return {"owner_principal_type": kind, "owner_principal_name": name}


def renew(client: RawClient, secret: bytes, period_ms: int = -1) -> tuple[int, int]:
    """Renew a token; return the code and its expiry."""
    answer = client.call(RenewDelegationTokenRequest(hmac=secret, renew_period_ms=period_ms), 2)
    return answer.error_code, answer.expiry_timestamp_ms


def expire(client: RawClient, secret: bytes, period_ms: int = -1) -> tuple[int, int]:
    """Expire a token; return the code and its expiry."""
    answer = client.call(ExpireDelegationTokenRequest(hmac=secret, expiry_time_period_ms=period_ms), 2)
    return answer.error_code, answer.expiry_timestamp_ms


def describe(client: RawClient, *owners: str, everything: bool = False) -> Any:
    """Ask for the tokens of these owners, or for all; return the answer."""
    named = [DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in owners]
    return client.call(DescribeDelegationTokenRequest(owners=None if everything else named), 3)


def shown(client: RawClient, *owners: str, everything: bool = False) -> set[str]:
    """Return the ids of these tokens."""
    answer = describe(client, *owners, everything=everything)
    assert answer.error_code == 0
    return {token.token_id for token in answer.tokens}


def token_login(
    client: RawClient, token_id: str, secret: bytes, mechanism: str = "SCRAM-SHA-256"
) -> tuple[int, str | None, int]:
    """Log in with a token; return code, message and lifetime of the last answer."""
    assert choose(client, mechanism)[0] == 0
    bare = f"n={token_id},r=nonce,tokenauth=true"
    code, message, data, lifetime_ms = give(client, f"n,,{bare}".encode())
    if not code:
        final = _final(mechanism, bare, data.decode(), b64encode(secret))
        code, message, _, lifetime_ms = give(client, final)
    return code, message, lifetime_ms


def _final(mechanism: str, bare: str, server_first: str, password: bytes) -> bytes:
    """Return the client's last message of SCRAM (RFC 5802)."""
    name = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    found = re.fullmatch(r"r=([^,]+),s=([^,]+),i=(\d+)", server_first)
    assert found is not None, server_first
    salted = hashlib.pbkdf2_hmac(name, password, b64decode(found[2]), int(found[3]))
    client_key = hmac.digest(salted, b"Client Key", name)
    last = f"c=biws,r={found[1]}"
    signed = hmac.digest(
        hashlib.new(name, client_key).digest(), f"{bare},{server_first},{last}".encode(), name
    )
    proof = bytes(a ^ b for a, b in zip(client_key, signed, strict=True))
    return f"{last},p={b64encode(proof).decode()}".encode()
