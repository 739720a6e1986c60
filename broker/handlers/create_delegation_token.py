"""CreateDelegationToken: v1-3.

Behaviour: makes a token with which programs log in as its owner, by default the requester; the answer, with
its secret HMAC, leaves when the token is durable.  In the order of the checks it answers
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED to a client that has shown no identity of its own,
DELEGATION_TOKEN_AUTHORIZATION_FAILED without CREATE_TOKENS on another owner, INVALID_PRINCIPAL_TYPE for
renewers that are not of type User, and DELEGATION_TOKEN_AUTH_DISABLED without delegation.token.secret.key.
Differences from Apache Kafka: an owner that is not of type User answers INVALID_PRINCIPAL_TYPE (Kafka makes a
token for the user of that name, or answers -1).  Tokens are limited in number: POLICY_VIOLATION; so are the
names of owner and renewers: INVALID_REQUEST.
Version notes: v2 flexible; v3 the owner (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.delegation_tokens import Ask
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, CallConnection, Parked
from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

USER: Final = "User"
"""The only type of principal that can log in."""

ANONYMOUS: Final = "User:ANONYMOUS"

WITH_REQUESTER: Final = 3
"""The first version whose answers name the requester."""

NEVER_MS: Final = -1
"""The times of a token that was not made, as Kafka tells them to those who may not ask."""


def may_ask(connection: CallConnection) -> bool:
    """Whether the client has shown who it is, and not by a token: then it may ask for tokens."""
    login = connection.login
    return connection.principal != ANONYMOUS if login is None else not login.by_token


def handle(
    broker: Broker, call: Call[CreateDelegationTokenRequest]
) -> CreateDelegationTokenResponse | Parked:
    """Make the token, or refuse it."""
    requester = call.connection.principal
    owner = _owner_of(call.request, requester)
    answer = _answer(owner, requester if call.version >= WITH_REQUESTER else ":")
    try:
        _check_requester(call, owner)
    except RequestError as error:
        answer.error_code = error.code
        answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = NEVER_MS
        return answer
    try:
        return _made(broker, call, owner, answer)
    except RequestError as error:
        answer.error_code = error.code
        return answer


def _owner_of(request: CreateDelegationTokenRequest, requester: str) -> str:
    if not request.owner_principal_name:
        return requester
    return f"{request.owner_principal_type or ''}:{request.owner_principal_name}"


def _answer(owner: str, requester: str) -> CreateDelegationTokenResponse:
    """Return the answer without a token."""
    (owner_type, _, owner_name), (type_, _, name) = owner.partition(":"), requester.partition(":")
    return CreateDelegationTokenResponse(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=type_,
        token_requester_principal_name=name,
        issue_timestamp_ms=0,
        expiry_timestamp_ms=0,
        max_timestamp_ms=0,
        token_id="",
        hmac=b"",
    )


def _check_requester(call: Call[CreateDelegationTokenRequest], owner: str) -> None:
    """Raise RequestError unless the client may have tokens of this owner made."""
    if not may_ask(call.connection):
        raise RequestError(
            ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
            "tokens are for clients with a certificate or a login of their own",
        )
    others = owner != call.connection.principal
    if others and call.rights and not call.rights.may(Operation.CREATE_TOKENS, ResourceType.USER, owner):
        raise RequestError(
            ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, f"tokens of {owner} need CREATE_TOKENS on it"
        )
    kinds = {owner.partition(":")[0], *(renewer.principal_type for renewer in call.request.renewers)}
    if kinds != {USER}:
        raise RequestError(
            ErrorCode.INVALID_PRINCIPAL_TYPE, "owners and renewers of tokens are principals of type User"
        )


def _made(
    broker: Broker,
    call: Call[CreateDelegationTokenRequest],
    owner: str,
    answer: CreateDelegationTokenResponse,
) -> CreateDelegationTokenResponse | Parked:
    tokens = broker.tokens
    if tokens is None:
        raise RequestError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "delegation.token.secret.key is not set")
    names = tuple(f"{USER}:{renewer.principal_name}" for renewer in call.request.renewers)
    ask = Ask(call.connection.principal, owner, names, call.request.max_lifetime_ms)
    token = tokens.create(ask, call.received_ms)
    answer.issue_timestamp_ms = token.issued_ms
    answer.expiry_timestamp_ms = token.expires_ms
    answer.max_timestamp_ms = token.ends_ms
    answer.token_id = token.token_id
    answer.hmac = tokens.hmac_of(token.token_id)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    pending.made(answer)
    return pending.answer(answer)
