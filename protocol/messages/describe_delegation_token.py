"""DescribeDelegationToken (41): ask for delegation tokens, one's own or those of others."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bytes, Int16, Int32, Int64, String, message, struct, wire


@struct
class DescribeDelegationTokenOwner:
    """A principal whose tokens are asked for."""

    principal_type: str = wire(String)
    principal_name: str = wire(String)


@message(api=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="1-3", flexible="2+")
class DescribeDelegationTokenRequest:
    """A request for the tokens of these owners, or, if it is null, for all that the client may see.

    Source: KIP-48.
    """

    owners: list[DescribeDelegationTokenOwner] | None = wire(
        ArrayOf(DescribeDelegationTokenOwner), nullable="0+"
    )


@struct
class DescribedDelegationTokenRenewer:
    """A principal that may renew a token."""

    principal_type: str = wire(String)
    principal_name: str = wire(String)


@struct
class DescribedDelegationToken:
    """A token with its HMAC."""

    principal_type: str = wire(String)
    principal_name: str = wire(String)
    token_requester_principal_type: str = wire(String, "3+", default="")
    token_requester_principal_name: str = wire(String, "3+", default="")
    issue_timestamp: int = wire(Int64)
    expiry_timestamp: int = wire(Int64)
    max_timestamp: int = wire(Int64)
    token_id: str = wire(String)
    hmac: bytes = wire(Bytes, secret=True)
    renewers: list[DescribedDelegationTokenRenewer] = wire(ArrayOf(DescribedDelegationTokenRenewer))


@message(api=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="1-3", flexible="2+")
class DescribeDelegationTokenResponse:
    """The tokens.

    Source: KIP-48; KIP-373.
    """

    error_code: int = wire(Int16, default=0)
    tokens: list[DescribedDelegationToken] = wire(ArrayOf(DescribedDelegationToken))
    throttle_time_ms: int = wire(Int32, default=0)
