"""The counts of logins and of TLS handshakes."""

from __future__ import annotations

from collections import Counter

OK = "ok"
FAILED = "failed"

NO_MECHANISM = "none"
"""Stands for the mechanism of clients that were refused before they chose one."""


class SecurityStats:
    """The counts since the start."""

    __slots__ = ("handshakes", "logins", "token_logins")

    def __init__(self) -> None:
        self.logins: Counter[tuple[str, str, str]] = Counter()
        """By listener, SASL mechanism and outcome."""
        self.token_logins: Counter[str] = Counter()
        """Those of them that showed a delegation token, by outcome."""
        self.handshakes: Counter[tuple[str, str]] = Counter()
        """TLS handshakes by listener and outcome."""

    def login(self, listener: str, mechanism: str, outcome: str, *, by_token: bool) -> None:
        """Count a login, or one that has failed."""
        self.logins[listener, mechanism or NO_MECHANISM, outcome] += 1
        if by_token:
            self.token_logins[outcome] += 1

    def copy(self) -> SecurityStats:
        """Return the counts as they are now, which do not change."""
        found = SecurityStats()
        found.logins = self.logins.copy()
        found.token_logins = self.token_logins.copy()
        found.handshakes = self.handshakes.copy()
        return found
