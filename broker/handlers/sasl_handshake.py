"""SaslHandshake: v0-1.

Behaviour: chooses the mechanism of a login, or of a later one on the same connection.  One that is not
enabled answers UNSUPPORTED_SASL_MECHANISM with those that are, after the delay of failed logins, and the
connection closes.  On listeners without SASL it answers ILLEGAL_SASL_STATE, as it does for a session without
end and within a second after the last later login.  The order of requests is in
broker/security/sasl_session.py.
Differences from Apache Kafka: none known.
Version notes: bare tokens follow v0, SaslAuthenticate follows v1 (KIP-152).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call, Parked
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(_broker: Broker, call: Call[SaslHandshakeRequest]) -> SaslHandshakeResponse | Parked:
    """Pass the choice on to the connection's login."""
    login = call.connection.login
    if login is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
    return login.handshake(call)
