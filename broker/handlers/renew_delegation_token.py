"""RenewDelegationToken: v1-2.

Behaviour: puts off the expiry of a token, which is named by its HMAC; the answer leaves when that is durable.
In the order of the checks it answers DELEGATION_TOKEN_REQUEST_NOT_ALLOWED as CreateDelegationToken does,
DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_EXPIRED, and
DELEGATION_TOKEN_OWNER_MISMATCH to a client that neither owns it nor is one of its renewers.
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
from protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[RenewDelegationTokenRequest]) -> RenewDelegationTokenResponse | Parked:
    """Renew the token, or refuse it."""
    if not may_ask(call.connection):
        code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NEVER_MS)
    if broker.tokens is None:
        return RenewDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    secret, period_ms = bytes(call.request.hmac), call.request.renew_period_ms
    try:
        expires_ms = broker.tokens.renew(secret, period_ms, call.connection.principal, call.received_ms)
    except RequestError as error:
        return RenewDelegationTokenResponse(error_code=error.code)
    answer = RenewDelegationTokenResponse(expiry_timestamp_ms=expires_ms)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    pending.made(answer)
    return pending.answer(answer)
