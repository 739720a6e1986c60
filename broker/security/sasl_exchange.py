"""One exchange of tokens with a client, as every SASL mechanism has it.

token --> step --> Challenge     the client has to send another token
               --> Accepted      the client is who it says
               --> Pending       a thread has to find out, for it takes long
               --> LoginRefused  (raised) it is not
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias


class LoginRefused(Exception):
    """A client is not let in; the text is for the log and has no secret.

    `told` is for the client; "" stands for a sentence that tells no reason.  Unless `answered`, the
    connection closes without an answer.  `by_token`: it showed a delegation token.
    """

    def __init__(self, why: str, *, told: str = "", answered: bool = True, by_token: bool = False) -> None:
        super().__init__(why)
        self.told = told
        self.answered = answered
        self.by_token = by_token


class Challenge(NamedTuple):
    """The server's token, to which the client has to answer."""

    data: bytes


class Accepted(NamedTuple):
    """The end of an exchange: the name of the user and the server's last token."""

    user: str
    data: bytes = b""
    until_wall_ms: int | None = None
    """The end of the credentials' validity in milliseconds since 1970; None: they have none."""
    by_token: bool = False
    """Whether the client has shown a delegation token, and no password of its own."""


Outcome: TypeAlias = Challenge | Accepted


class Pending(NamedTuple):
    """Work for a thread, which returns the outcome or raises LoginRefused."""

    work: Callable[[], Outcome]


class Exchange(Protocol):
    """The server's side of an exchange; each client has one of its own."""

    def step(self, token: bytes) -> Outcome | Pending:
        """Take a token of the client.  Raises: LoginRefused."""
