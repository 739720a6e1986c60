"""CreateDelegationToken (38): have a token made by which programs log in for a user."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bytes, Int16, Int32, Int64, String, message, struct, wire


@struct
class CreatableRenewers:
    """A principal that may renew the token."""

    principal_type: str = wire(String)
    principal_name: str = wire(String)


@message(api=ApiKey.CREATE_DELEGATION_TOKEN, versions="1-3", flexible="2+")
class CreateDelegationTokenRequest:
    """A request to make a token; without an owner's name it is for the requester.

    Source: KIP-48; KIP-373 (tokens for other users).
    """

    owner_principal_type: str | None = wire(String, "3+", nullable="3+", default="")
    owner_principal_name: str | None = wire(String, "3+", nullable="3+", default="")
    renewers: list[CreatableRenewers] = wire(ArrayOf(CreatableRenewers))
    max_lifetime_ms: int = wire(Int64)  # 0 and below: the server's


@message(api=ApiKey.CREATE_DELEGATION_TOKEN, versions="1-3", flexible="2+")
class CreateDelegationTokenResponse:
    """The token; its HMAC is the password of those who log in with it.

    Source: KIP-48; KIP-373.
    """

    error_code: int = wire(Int16, default=0)
    principal_type: str = wire(String)
    principal_name: str = wire(String)
    token_requester_principal_type: str = wire(String, "3+", default="")
    token_requester_principal_name: str = wire(String, "3+", default="")
    issue_timestamp_ms: int = wire(Int64)
    expiry_timestamp_ms: int = wire(Int64)
    max_timestamp_ms: int = wire(Int64)
    token_id: str = wire(String)
    hmac: bytes = wire(Bytes, secret=True)
    throttle_time_ms: int = wire(Int32, default=0)
