"""SaslHandshake (17): choose how to authenticate."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, String, message, wire


@message(api=ApiKey.SASL_HANDSHAKE, versions="0-1", hot=True)
class SaslHandshakeRequest:
    """The choice of a SASL mechanism; there is no flexible version.

    Source: KIP-43, KIP-152 (v1: SaslAuthenticate follows; after v0, raw tokens).
    """

    mechanism: str = wire(String)


@message(api=ApiKey.SASL_HANDSHAKE, versions="0-1", hot=True)
class SaslHandshakeResponse:
    """Whether the broker offers the mechanism, and the list of those that it offers.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    mechanisms: list[str] = wire(ArrayOf(String))
