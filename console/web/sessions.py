"""Logins of people: a cookie that stands for a user of the broker, while this process runs.

Cookies ignore ports: another program on this machine gets ours, and may set some.  So the name has a random
part, and the value is a secret that means something here alone.  Passwords stay in memory, for the
connections that are made later.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from console.security import Security
from console.web.kafka_door import CLIENT_ID, Kafka, KafkaDoor
from protocol.messages.api_versions import ApiVersionsRequest

API_VERSIONS_VERSION: Final = 3
IDLE_SECONDS: Final = 30 * 60
SESSIONS_MAX: Final = 1000
"""Logins at once; the one that is idle longest makes room."""


@dataclass(slots=True)
class Session:
    """A login."""

    user: str
    kafka: Kafka
    used_at: float
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """Proves that a script means it, where a browser would tell where a request comes from."""


class Sessions:
    """The logins there are."""

    def __init__(self, *, https: bool, clock: Callable[[], float]) -> None:
        prefix = "__Host-" if https else ""
        self.cookie_name = f"{prefix}kawal-{secrets.token_hex(4)}"
        self._secure = "; Secure" if https else ""
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    def open(self, user: str, kafka: Kafka) -> str:
        """Begin a login and return its Set-Cookie header."""
        self._forget_idle()
        while len(self._sessions) >= SESSIONS_MAX:
            self.close(next(iter(self._sessions)))
        secret = secrets.token_urlsafe(32)
        self._sessions[secret] = Session(user, kafka, self._clock())
        return f"{self.cookie_name}={secret}; Path=/; HttpOnly; SameSite=Strict{self._secure}"

    def find(self, secret: str) -> Session | None:
        """Return the login of a cookie, which is thereby used; None when it is unknown or too long idle."""
        self._forget_idle()
        session = self._sessions.pop(secret, None)
        if session is not None:
            session.used_at = self._clock()
            self._sessions[secret] = session
        return session

    def close(self, secret: str) -> str:
        """End a login, if it is one, and return the Set-Cookie header that removes the cookie."""
        session = self._sessions.pop(secret, None)
        if session is not None:
            session.kafka.close()
        return f"{self.cookie_name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{self._secure}"

    def _forget_idle(self) -> None:
        """Close what is idle for too long; the sessions are in the order of their last use."""
        now = self._clock()
        while self._sessions:
            secret, session = next(iter(self._sessions.items()))
            if now - session.used_at < IDLE_SECONDS:
                return
            self.close(secret)


class Logins:
    """The way to log in: a connection to the broker as that user, which the broker accepts or not."""

    def __init__(self, door: KafkaDoor, security: Security, sessions: Sessions) -> None:
        """Take the way to the broker, which lacks a user and a password."""
        self._door = door
        self._security = security
        self.sessions = sessions

    async def log_in(self, user: str, password: str) -> str:
        """Begin a login and return its Set-Cookie header.

        Raises: console.login.LoginRefused, with the broker's words; CommandError.
        """
        kafka = self._door.enter(self._security._replace(user=user, password=password))
        request = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version="1")
        try:
            await kafka.send(request, API_VERSIONS_VERSION)
        except BaseException:
            kafka.close()
            raise
        return self.sessions.open(user, kafka)


def cookies_of(header: str) -> dict[str, str]:
    """Return the cookies of a request; of a name that comes twice, the first, which has the longer path."""
    found: dict[str, str] = {}
    for part in header.replace(",", ";").split(";"):
        name, separator, value = part.strip().partition("=")
        if separator:
            found.setdefault(name, value)
    return found
