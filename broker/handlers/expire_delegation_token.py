"""ExpireDelegationToken: v1-2.

Behaviour: sets the expiry of a token, which is named by its HMAC, or with a period below 0 removes it; the
answer leaves when that is durable.  Connections that logged in with it last until the end that they were
told.
In the order of the checks it answers DELEGATION_TOKEN_REQUEST_NOT_ALLOWED as CreateDelegationToken does,
DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_OWNER_MISMATCH to a client that
neither owns it nor is one of its renewers, and DELEGATION_TOKEN_EXPIRED.
Differences from Apache Kafka: none known.
Version notes: v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors import RequestError
from broker.handlers.create_delegation_token import NEVER_MS, may_ask
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from protocol.error_codes import ErrorCode
from protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[ExpireDelegationTokenRequest]
) -> ExpireDelegationTokenResponse | Parked:
    """Expire the token, or refuse to."""
    if not may_ask(call.connection):
        code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NEVER_MS)
    if broker.tokens is None:
        return ExpireDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    secret, period_ms = bytes(call.request.hmac), call.request.expiry_time_period_ms
    try:
        expires_ms = broker.tokens.expire(secret, period_ms, call.connection.principal, call.received_ms)
    except RequestError as error:
        return ExpireDelegationTokenResponse(error_code=error.code)
    answer = ExpireDelegationTokenResponse(expiry_timestamp_ms=expires_ms)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    pending.made(answer)
    return pending.answer(answer)
