"""SASL PLAIN: `[authzid] NUL user NUL password`, UTF-8; one token and no challenge.

Source: RFC 4616; PlainSaslServer of Kafka 4.3, with its sentences.
"""

from __future__ import annotations

from typing import Final, Protocol

from broker.security.sasl_exchange import Accepted, LoginRefused, Outcome, Pending

WRONG: Final = "Authentication failed: Invalid username or password"
"""Unknown users and wrong passwords are told the same."""

TOKEN_BYTES_MAX: Final = 4_096
"""Names and passwords are short; hashing a long one would cost the server."""


class Passwords(Protocol):
    """The users of PLAIN."""

    def known(self, user: str, password: str) -> bool | None:
        """Whether the password is right; None: only `check` can tell."""

    def check(self, user: str, password: str) -> bool:
        """Whether the password is right; takes long, and is called in a thread."""


class PlainExchange:
    """The login of one client."""

    __slots__ = ("_passwords",)

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    def step(self, token: bytes) -> Outcome | Pending:
        """Take the token.  Raises: LoginRefused."""
        authorized, user, password = _parts(token)
        if authorized and authorized != user:
            raise _refused("Client requested an authorization id that is different from username", user)
        known = self._passwords.known(user, password)
        if known is None:
            return Pending(lambda: _judged(user, self._passwords.check(user, password)))
        return _judged(user, known)


def _parts(token: bytes) -> tuple[str, str, str]:
    if len(token) > TOKEN_BYTES_MAX:
        raise LoginRefused(f"a token of {len(token)} bytes, more than {TOKEN_BYTES_MAX}")
    try:
        parts = token.decode().split("\0")
    except UnicodeDecodeError as error:
        raise LoginRefused("a token that is not UTF-8") from error
    if len(parts) != 3:
        why = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
        raise LoginRefused(why, told=why)
    if not parts[1]:
        raise _refused("username not specified", "")
    if not parts[2]:
        raise _refused("password not specified", parts[1])
    return parts[0], parts[1], parts[2]


def _judged(user: str, right: bool) -> Accepted:
    if not right:
        raise LoginRefused(f"user {user!r}: invalid username or password", told=WRONG)
    return Accepted(user)


def _refused(reason: str, user: str) -> LoginRefused:
    return LoginRefused(f"user {user!r}: {reason}", told=f"Authentication failed: {reason}")
