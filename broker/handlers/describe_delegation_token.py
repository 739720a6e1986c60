"""DescribeDelegationToken: v1-3.

Behaviour: lists the tokens that the client owns, has asked for or may renew, and others with DESCRIBE on the
token or DESCRIBE_TOKENS on its owner; each with its HMAC.  `owners` limits them to those that one of these
principals owns, has asked for or may renew; an empty list finds none.  Expired tokens are listed until they
are removed.  It answers DELEGATION_TOKEN_REQUEST_NOT_ALLOWED as CreateDelegationToken does, then
DELEGATION_TOKEN_AUTH_DISABLED.
Differences from Apache Kafka: none known.
Version notes: v2 flexible; v3 the requester (KIP-373).
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from broker.handlers.create_delegation_token import WITH_REQUESTER, may_ask
from broker.loop.call import Call
from broker.loop.slices import Steps, in_slices, made_of
from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights
from protocol.error_codes import ErrorCode
from protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import DelegationTokenSet
    from broker.catalogue.delegation_tokens import DelegationTokens
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[DescribeDelegationTokenRequest]
) -> DescribeDelegationTokenResponse | Steps:
    """List the tokens, or refuse to."""
    if not may_ask(call.connection):
        return _refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if broker.tokens is None:
        return _refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = call.request.owners
    wanted = None if owners is None else {f"{item.principal_type}:{item.principal_name}" for item in owners}
    table = broker.catalogue.tokens
    answer: DescribeDelegationTokenResponse | Steps = in_slices(
        _described(list(table), broker.tokens, call, wanted), len(table)
    )
    return answer


def _refused(code: ErrorCode) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=code, tokens=[])


def _described(
    known: list[DelegationTokenSet],
    tokens: DelegationTokens,
    call: Call[DescribeDelegationTokenRequest],
    wanted: set[str] | None,
) -> Steps:
    principal, rights = call.connection.principal, call.rights

    def is_shown(token: DelegationTokenSet) -> bool:
        concerned = {token.owner, token.requester, *token.renewers}
        if wanted is not None and wanted.isdisjoint(concerned):
            return False
        return principal in concerned or rights is None or _may_see(rights, token)

    shown = yield from made_of(known, is_shown)
    described = yield from made_of(compress(known, shown), lambda token: _token(token, tokens, call.version))
    return DescribeDelegationTokenResponse(tokens=described)


def _may_see(rights: Rights, token: DelegationTokenSet) -> bool:
    return rights.may(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id) or rights.may(
        Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner
    )


def _token(token: DelegationTokenSet, tokens: DelegationTokens, version: int) -> DescribedDelegationToken:
    (owner_type, _, owner), (type_, _, requester) = (
        token.owner.partition(":"),
        (token.requester if version >= WITH_REQUESTER else ":").partition(":"),
    )
    renewers = (renewer.partition(":") for renewer in token.renewers)
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner,
        token_requester_principal_type=type_,
        token_requester_principal_name=requester,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.ends_ms,
        token_id=token.token_id,
        hmac=tokens.hmac_of(token.token_id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
            for kind, _, name in renewers
        ],
    )
