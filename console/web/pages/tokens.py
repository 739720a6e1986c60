"""`/tokens`: delegation tokens, without what proves them."""

from __future__ import annotations

from typing import Final, NamedTuple

from console.admin import check
from console.web.paging import page_of
from console.web.visit import Answer, Rows, View, Visit, get
from console.wire import ask
from protocol.error_codes import ErrorCode
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest

VERSION: Final = 3
NONE_HERE: Final = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "This broker has no delegation tokens: "
    "delegation.token.secret.key in its configuration turns them on.",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "Tokens are told to those who have logged in "
    "by a listener with SASL, and not by a token.",
}
"""Errors that are no fault of this request."""


class TokenRow(NamedTuple):
    """A token; its HMAC, by which one logs in, goes nowhere."""

    token: str
    owner: str
    requester: str
    renewers: list[str]
    issued_ms: int
    expires_ms: int
    latest_ms: int


def tokens_of(bootstrap: str) -> tuple[list[TokenRow], str]:
    """Return the tokens that this identity may see, or why there are none.  Raises: CommandError."""
    answer = ask(bootstrap, DescribeDelegationTokenRequest(owners=None), VERSION)
    if answer.error_code in NONE_HERE:
        return [], NONE_HERE[answer.error_code]
    check(answer.error_code, None, "delegation tokens")
    rows = [
        TokenRow(
            token.token_id,
            f"{token.principal_type}:{token.principal_name}",
            f"{token.token_requester_principal_type}:{token.token_requester_principal_name}",
            [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in token.renewers],
            token.issue_timestamp,
            token.expiry_timestamp,
            token.max_timestamp,
        )
        for token in answer.tokens
    ]
    return sorted(rows, key=lambda row: (row.owner, row.expires_ms)), ""


async def tokens(visit: Visit) -> Answer:
    """Show the tokens."""
    found, why_none = await visit.kafka.run(tokens_of, visit.kafka.bootstrap)
    page = page_of(visit, found)
    return View(
        title="Delegation tokens",
        template="tokens.html",
        context={"page": page, "why_none": why_none},
        rows=Rows(TokenRow._fields, page.items),
    )


ROUTES = (get("/tokens", tokens),)
