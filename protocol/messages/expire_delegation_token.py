"""ExpireDelegationToken (40): bring forward the end of a delegation token, or remove it."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bytes, Int16, Int32, Int64, message, wire


@message(api=ApiKey.EXPIRE_DELEGATION_TOKEN, versions="1-2", flexible="2+")
class ExpireDelegationTokenRequest:
    """A request to bring forward the end of a delegation token, or remove it.

    Source: KIP-48.
    """

    hmac: bytes = wire(Bytes, secret=True)
    expiry_time_period_ms: int = wire(Int64)  # below 0: remove it


@message(api=ApiKey.EXPIRE_DELEGATION_TOKEN, versions="1-2", flexible="2+")
class ExpireDelegationTokenResponse:
    """The time at which the token expires now.

    Source: KIP-48.
    """

    error_code: int = wire(Int16, default=0)
    expiry_timestamp_ms: int = wire(Int64, default=0)
    throttle_time_ms: int = wire(Int32, default=0)
