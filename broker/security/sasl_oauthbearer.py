"""SASL OAUTHBEARER: `n,[a=authzid],^A auth=Bearer TOKEN ^A [name=value ^A …] ^A`, without the blanks.

A token that is not accepted is answered with `{"status":"invalid_token"}`; the client has to say ^A to that,
and then learns that its login has failed.  The same JSON is the text of that failure.
Source: RFC 7628, KIP-255; OAuthBearerSaslServer of Kafka 4.3.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Protocol

from broker.security.sasl_exchange import Accepted, Challenge, LoginRefused, Outcome

INVALID: Final = '{"status":"invalid_token"}'

TOKEN_BYTES_MAX: Final = 32 << 10
"""Tokens with many groups have some KiB."""

_MESSAGE: Final = re.compile(
    r"n,(?:a=(?P<authorized>[^,\x01]*))?,\x01auth=[Bb]earer +(?P<token>[-\w.~+/]+=*)\x01"
    r"(?:[A-Za-z]+=[^\x01]*\x01)*\x01",
    re.ASCII,
)


class InvalidToken(Exception):
    """A token that does not let its bearer in; the text says why, and has no part of it."""


class TokenKeysUnusable(ValueError):
    """The keys of tokens cannot be used; the text is one sentence for the operator."""


class Bearer(NamedTuple):
    """The bearer of a token, and the end of its validity in milliseconds since 1970."""

    name: str
    until_wall_ms: int


class Validator(Protocol):
    """The judge of tokens."""

    def bearer_of(self, token: str) -> Bearer:
        """Return the bearer of a token.  Raises: InvalidToken."""


class OAuthBearerExchange:
    """The login of one client."""

    __slots__ = ("_failure", "_validator")

    def __init__(self, validator: Validator) -> None:
        self._validator = validator
        self._failure = ""

    def step(self, token: bytes) -> Outcome:
        """Take the token, or the answer to the news that it is not accepted.  Raises: LoginRefused."""
        if self._failure:
            raise LoginRefused(self._failure, told=INVALID)
        found = _MESSAGE.fullmatch(_text(token))
        if found is None:
            raise LoginRefused("a message that is not one of OAUTHBEARER")
        try:
            bearer = self._validator.bearer_of(found["token"])
        except InvalidToken as invalid:
            self._failure = str(invalid)
            return Challenge(INVALID.encode())
        authorized = found["authorized"]
        if authorized and authorized != bearer.name:
            told = (
                f"Authentication failed: Client requested an authorization id ({authorized}) that is"
                f" different from the token's principal name ({bearer.name})"
            )
            raise LoginRefused(f"the bearer {bearer.name!r} asked to be {authorized!r}", told=told)
        return Accepted(bearer.name, until_wall_ms=bearer.until_wall_ms)


def _text(token: bytes) -> str:
    if len(token) > TOKEN_BYTES_MAX:
        raise LoginRefused(f"a token of {len(token)} bytes, more than {TOKEN_BYTES_MAX}")
    try:
        return token.decode()
    except UnicodeDecodeError as error:
        raise LoginRefused("a token that is not UTF-8") from error
