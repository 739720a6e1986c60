"""RenewDelegationToken (39): put off the end of a delegation token."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bytes, Int16, Int32, Int64, message, wire


@message(api=ApiKey.RENEW_DELEGATION_TOKEN, versions="1-2", flexible="2+")
class RenewDelegationTokenRequest:
    """A request to put off the end of a delegation token.

    Source: KIP-48.
    """

    hmac: bytes = wire(Bytes, secret=True)
    renew_period_ms: int = wire(Int64)  # 0 and below: the server's


@message(api=ApiKey.RENEW_DELEGATION_TOKEN, versions="1-2", flexible="2+")
class RenewDelegationTokenResponse:
    """The time at which the token expires now.

    Source: KIP-48.
    """

    error_code: int = wire(Int16, default=0)
    expiry_timestamp_ms: int = wire(Int64, default=0)
    throttle_time_ms: int = wire(Int32, default=0)
