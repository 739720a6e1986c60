"""Envelope (58): a client's request that another node has taken, for the controller (KIP-590)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bytes, Int16, message, wire


@message(api=ApiKey.ENVELOPE, versions="0", flexible="0+")
class EnvelopeRequest:
    """A request with its header, and who has sent it.

    Source: EnvelopeRequest.json.
    """

    request_data: bytes = wire(Bytes)
    request_principal: bytes | None = wire(Bytes, nullable="0+")
    client_host_address: bytes = wire(Bytes)  # 4 or 16 bytes


@message(api=ApiKey.ENVELOPE, versions="0", flexible="0+")
class EnvelopeResponse:
    """The answer with its header; without one if there is an error of the envelope itself.

    Source: EnvelopeResponse.json.
    """

    response_data: bytes | None = wire(Bytes, nullable="0+", default=None)
    error_code: int = wire(Int16, default=0)
