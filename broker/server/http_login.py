"""Logins at the HTTP door: the users of the Kafka listeners, by HTTP's Basic scheme.

    no credentials, or wrong ones     401, after connection.failed.authentication.delay.ms
    a user without DESCRIBE on the cluster (with an authorizer)     403
    else     the page

The users are those of SCRAM, and of PLAIN on any listener.  Passwords are checked one at a time in a thread,
so that a crowd with wrong ones takes no more than that; each is told in the log as a refused client.
Source: RFC 7617.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from broker.config.config import Config
from broker.config.sasl_names import PLAIN
from broker.config.sasl_settings import sasl_settings
from broker.connections.connection import ANONYMOUS
from broker.core import Broker
from broker.security.authorized_operations import Operation
from broker.security.plain_passwords import PlainPasswords
from broker.security.rights import Rights
from broker.security.sasl_plain import Passwords
from broker.security.scram_passwords import ScramPasswords
from broker.server.http_conversation import Headers, Page
from broker.server.password_file import PasswordFile

LISTENER: Final = "HTTP"
"""The name of this door in events."""

CREDENTIALS_MAX: Final = 4_096
KEY_BITS: Final = 256

TOLD_MAX: Final = 1_000
TOLD_MS: Final = 3_600_000
"""A program that asks each few seconds is told in the audit log once in an hour."""

V4_MAPPED: Final = "::ffff:"


@dataclass(slots=True)
class Said:
    """The words of a client about itself."""

    client_id: str | None


@dataclass(slots=True)
class HttpClient:
    """A client, as the audit log tells of it."""

    principal: str
    host: str
    client: Said
    listener: str = LISTENER
    identity: int = 0

    @property
    def peer(self) -> str:
        """Its address."""
        return self.host


class HttpLogins:
    """The judge of requests."""

    def __init__(self, broker: Broker, now_ms: Callable[[], int]) -> None:
        """Read the files of users.  Raises: PasswordFileError."""
        self._broker = broker
        self._now_ms = now_ms
        self._doors = passwords_of(broker, broker.config, now_ms)
        self._one_at_a_time = trio.CapacityLimiter(1)
        self._told: dict[tuple[str, str], int] = {}

    async def refusal(self, headers: Headers, host: str) -> Page | None:
        """Return the page that refuses a request, None if its client may have what it asks for."""
        host = host.removeprefix(V4_MAPPED)
        given = credentials_of(headers.get("authorization", ""))
        if given is None:
            return _UNAUTHORIZED
        user, password = given
        who = HttpClient(f"User:{user}", host, Said(headers.get("user-agent")))
        if self._audit_blocks() or not await self._is_right(user, password):
            self._note_refused(who, f"HTTP: user {user!r}: invalid username or password")
            await trio.sleep(self._broker.config.connection_failed_authentication_delay_ms / 1000)
            return _UNAUTHORIZED
        authorizer = self._broker.authorizer
        if authorizer is not None and not Rights(authorizer, who.principal, host).may_cluster(
            Operation.DESCRIBE
        ):
            why = f"{who.principal} needs DESCRIBE on the cluster"
            self._note_refused(who, f"HTTP: user {user!r}: {why}")
            return Page(f"{why}\n".encode(), 403)
        self._tell(who)
        return None

    def _audit_blocks(self) -> bool:
        audit = self._broker.stats.audit
        return audit is not None and bool(audit.blocked)

    async def _is_right(self, user: str, password: str) -> bool:
        known = [door.known(user, password) for door in self._doors]
        if True in known:
            return True
        for door, answer in zip(self._doors, known, strict=True):
            if answer is None and await trio.to_thread.run_sync(
                door.check, user, password, limiter=self._one_at_a_time
            ):
                return True
        return False

    def _note_refused(self, who: HttpClient, why: str) -> None:
        stats = self._broker.stats
        stats.refused_clients.note(who.host, why, stats.turns.clock_ns())
        if stats.audit is not None:
            stats.audit.refused(HttpClient(ANONYMOUS, who.host, who.client), why)

    def _tell(self, who: HttpClient) -> None:
        """Have the audit log tell of a client, but not of each of its requests."""
        audit = self._broker.stats.audit
        if audit is None:
            return
        key, now_ms = (who.principal, who.host), self._now_ms()
        if now_ms - self._told.get(key, -TOLD_MS) < TOLD_MS:
            return
        if len(self._told) >= TOLD_MAX:
            self._told.clear()
        self._told[key] = now_ms
        audit.accepted(who, "HTTP Basic")


_UNAUTHORIZED: Final = Page(
    b"this address answers users of the server; log in by HTTP's Basic scheme\n",
    401,
    headers=(("WWW-Authenticate", 'Basic realm="kawal", charset="UTF-8"'),),
)


def credentials_of(header: str) -> tuple[str, str] | None:
    """Return user and password of an Authorization header; None if it has none that can be used."""
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic" or len(encoded) > CREDENTIALS_MAX:
        return None
    try:
        text = b64decode(encoded.strip(), validate=True).decode()
    except ValueError:
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon and user and password and "\0" not in text else None


def passwords_of(broker: Broker, config: Config, now_ms: Callable[[], int]) -> Sequence[Passwords]:
    """Return what checks the passwords of the users of all listeners.  Raises: PasswordFileError."""
    key = broker.random.getrandbits(KEY_BITS).to_bytes(KEY_BITS // 8, "big")
    doors: list[Passwords] = [ScramPasswords(lambda: broker.catalogue.scram_credentials, key)]
    seen = []
    for spec in config.specs:
        if not spec.protocol.sasl:
            continue
        settings = sasl_settings(config, spec.name)
        own = dict(settings.plain_users), settings.plain_file
        if PLAIN not in settings.mechanisms or own in seen:
            continue
        seen.append(own)
        read = None if settings.plain_file is None else PasswordFile(settings.plain_file)
        doors.append(PlainPasswords(settings.plain_users, read=read, key=key, now_ms=now_ms))
    return doors
