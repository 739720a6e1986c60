"""Envelope: v0.

Behaviour: serves the request inside as if its client had sent it here: with that client's principal, host and
listener it passes the gate, is counted and audited, and its answer is what the envelope's answer has.
Errors: NOT_CONTROLLER, but for what every node is asked for; INVALID_REQUEST for an envelope, or a request
inside, that cannot be read, or whose connection would be closed.  Clients get no answer: as for an API
that is not served, their connection ends.
Differences from Apache Kafka: the tagged fields of broker/connections/envelopes.py.
Version notes: none.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, cast

from broker.connections.envelopes import (
    VERSION,
    VERSION_TAG,
    WAIT,
    WAIT_TAG,
    Outbox,
    Sender,
    TokenLogin,
    sender_of,
)
from broker.handlers import FORWARDED, JOINED
from broker.loop.call import PARKED, Call, Parked
from broker.loop.stats import Cause
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse

if TYPE_CHECKING:
    from broker.connections.connection import Connection
    from broker.core import Broker

_API_KEY: Final = struct.Struct(">h")


def not_served(call: Call[Any]) -> Parked:
    """End the connection of a client that asks for an API of nodes, as if it were unknown."""
    call.connection.close(f"api {call.api_key} is not served", Cause.PROTOCOL)
    return PARKED


def handle(broker: Broker, call: Call[EnvelopeRequest]) -> EnvelopeResponse | Parked:
    """Serve the request inside."""
    if not call.connection.from_peer:
        return not_served(call)
    request: Any = call.request  # unknown_tags are not declared
    # Its own bytes: those of the frame are used again.
    data = bytes(request.request_data)
    try:
        sender = sender_of(
            bytes(request.request_principal or b""),
            bytes(request.client_host_address),
            request.unknown_tags,
        )
        (api_key,) = _API_KEY.unpack_from(data)
    except (ProtocolError, ValueError, struct.error):
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    if api_key not in JOINED:
        if not broker.nodes.is_controller:
            return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        if api_key not in FORWARDED:
            return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    _serve(broker, call, data, sender)
    return PARKED


def _serve(broker: Broker, call: Call[EnvelopeRequest], data: bytes, sender: Sender) -> None:
    def done(answer: bytes | None) -> None:
        broker.disconnect(inside)
        if answer is None:
            call.reply(EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        response: Any = EnvelopeResponse(response_data=answer)
        wait_ms = max(0, inside.muted_until_ms - broker.clock.turn_ms)
        response.unknown_tags = {
            VERSION_TAG: VERSION.pack(broker.meta.log.next_version),
            WAIT_TAG: WAIT.pack(wait_ms),
        }
        call.reply(response)

    inside = _connect(broker, call, sender)
    inside.unsent = Outbox(broker.scheduler.first, done)
    broker.intake.serve_inside(inside, memoryview(data), call.received_ms)


def _connect(broker: Broker, call: Call[EnvelopeRequest], sender: Sender) -> Connection:
    host = f"[{sender.host}]" if ":" in sender.host else sender.host
    inside = broker.connect(peer=f"{host}:0", advertised=sender.controller, now_ms=call.received_ms)
    inside.principal, inside.listener, inside.forwarded = sender.principal, sender.listener, True
    if sender.by_token:
        inside.login = cast("Any", TokenLogin())
    return inside
