"""SaslAuthenticate: v0-2.

Behaviour: takes a token of the client and answers with one of the server.  A login that fails answers
SASL_AUTHENTICATION_FAILED after connection.failed.authentication.delay.ms, and the connection closes.  On a
connection that is logged in, or needs no login, it answers ILLEGAL_SASL_STATE.
Differences from Apache Kafka: a user of SCRAM that does not exist fails with its second token, as one with a
wrong password does (Kafka: with the first).  During a login requests other than ApiVersions and SaslHandshake
close the connection without an answer (Kafka: with ILLEGAL_SASL_STATE).
Version notes: v1 session_lifetime_ms (KIP-368); v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call, Parked
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(_broker: Broker, call: Call[SaslAuthenticateRequest]) -> SaslAuthenticateResponse | Parked:
    """Pass the token on to the connection's login."""
    login = call.connection.login
    if login is None or login.is_ready:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
            auth_bytes=b"",
        )
    return login.authenticate(call)
