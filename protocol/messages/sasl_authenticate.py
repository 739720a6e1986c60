"""SaslAuthenticate (36): one step of a SASL exchange."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bytes, Int16, Int64, String, message, wire


@message(api=ApiKey.SASL_AUTHENTICATE, versions="0-2", flexible="2+", hot=True)
class SaslAuthenticateRequest:
    """A token of the client.

    Source: KIP-152, KIP-368 (v1 re-authentication).
    """

    auth_bytes: bytes = wire(Bytes, secret=True)


@message(api=ApiKey.SASL_AUTHENTICATE, versions="0-2", flexible="2+", hot=True)
class SaslAuthenticateResponse:
    """A token of the server, or a refusal.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    auth_bytes: bytes = wire(Bytes, secret=True)
    session_lifetime_ms: int = wire(Int64, "1+", default=0, ignorable=True)  # 0: unlimited
