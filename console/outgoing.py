"""The rules for the requests of one piece of work: their sender, their connections, and those that may leave.

A command has one set of rules, that of its process (console/credentials.py).  The web console works for many
people at once, in threads: around each piece of work it puts rules of its own, and the helpers of this
package, which know nothing of it, follow them.  Every request is encoded by `console.exchange.request_frame`,
which asks the rules first: nothing can be sent around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from console.errors import CommandError
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from console.security import Security


class NotAllowed(CommandError):
    """A request that the rules keep from leaving."""


class Rules(Protocol):
    """The rules for one piece of work."""

    @property
    def security(self) -> Security:
        """The security of its connections."""

    def check(self, api: ApiKey, request: Any) -> None:
        """Raise NotAllowed if a request may not leave."""

    def ask(self, bootstrap: str, request: Any, version: int) -> Any:
        """Send a request on a connection that is kept, and return its answer.  Raises: CommandError."""

    def connect(self, address: str) -> Any:
        """Return a new console.link.Link to a broker that names this address.  Raises: CommandError."""


_RULES: ContextVar[Rules | None] = ContextVar("rules", default=None)


def rules() -> Rules | None:
    """Return the rules of the work that runs now; None: those of the process."""
    return _RULES.get()


@contextmanager
def under(chosen: Rules) -> Iterator[None]:
    """Put the work inside under these rules."""
    token = _RULES.set(chosen)
    try:
        yield
    finally:
        _RULES.reset(token)
