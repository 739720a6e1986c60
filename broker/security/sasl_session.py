"""The order of requests in a login, and in a later one on its connection: no clock, no secrets.

    state     ApiVersions     SaslHandshake            SaslAuthenticate   KawalGreet  any other request
    NEW       pass, -> KNOWN  pass, -> TOKENS          close              pass        close
    KNOWN     close           pass, -> TOKENS          close              close       close
    TOKENS    illegal         illegal                  pass               illegal     illegal
    READY     pass            pass, perhaps -> TOKENS  pass (refused)     pass        pass
    FAILED    close           close                    close              close       close

    pass      the request is handled
    illegal   the answer is ILLEGAL_SASL_STATE, then the connection closes
    close     the connection closes without an answer

TOKENS leads to READY when the mechanism has accepted the client, and to FAILED when it has not.  After a
SaslHandshake v0 the tokens are bare: frames that are no requests, to which this table does not apply.  A
session may have an end; after it, in READY, SaslHandshake alone passes, and any other request closes the
connection.  KawalGreet is of other nodes, which need no login.
Source: SaslServerAuthenticator and KafkaChannel.maybeBeginServerReauthentication of Kafka 4.3; KIP-43,
KIP-152, KIP-368.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from broker.security.sasl_exchange import LoginRefused
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

AGAIN_MS_MIN: Final = 1_000
"""The least time between two logins on a connection, after the first two.  Source: KafkaChannel."""


class State(Enum):
    """The progress of a login."""

    NEW = "new"
    KNOWN = "known"
    """The client knows which versions there are."""
    TOKENS = "tokens"
    """A mechanism was chosen."""
    READY = "ready"
    FAILED = "failed"


class Verdict(Enum):
    """The fate of a request."""

    PASS = "pass"  # noqa: S105  (no password)
    ILLEGAL = "illegal"
    CLOSE = "close"


_COLUMNS: Final[Mapping[int, int]] = {
    ApiKey.API_VERSIONS: 0,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.KAWAL_GREET: 3,
}
_P, _I, _C = Verdict.PASS, Verdict.ILLEGAL, Verdict.CLOSE

TABLE: Final[Mapping[State, tuple[Verdict, Verdict, Verdict, Verdict, Verdict]]] = {
    State.NEW: (_P, _P, _C, _P, _C),
    State.KNOWN: (_C, _P, _C, _C, _C),
    State.TOKENS: (_I, _I, _P, _I, _I),
    State.READY: (_P, _P, _P, _P, _P),
    State.FAILED: (_C, _C, _C, _C, _C),
}
"""The verdicts by state, for ApiVersions, SaslHandshake, SaslAuthenticate, KawalGreet and all others."""


class SaslSession:
    """The login of one connection; moments are of the steady clock, in milliseconds."""

    __slots__ = (
        "_again_ms",
        "_ends_ms",
        "_lifetimes_ms",
        "_unfit",
        "mechanism",
        "mechanisms",
        "principal",
        "raw",
        "state",
    )

    def __init__(self, mechanisms: tuple[str, ...], lifetimes_ms: Mapping[str, int]) -> None:
        """`mechanisms` may be chosen; a session by one of `lifetimes_ms` ends, those of the others do not."""
        self.mechanisms = mechanisms
        self._lifetimes_ms = lifetimes_ms
        self.state = State.NEW
        self.mechanism = ""
        self.principal = ""
        # Whether tokens come without the headers of requests.
        self.raw = False
        self._ends_ms: int | None = None
        self._again_ms: int | None = None
        # Why the mechanism cannot be used, although the handshake was answered.
        self._unfit = ""

    @property
    def again(self) -> bool:
        """Whether the client has been logged in on this connection before."""
        return bool(self.principal)

    @property
    def expects_raw(self) -> bool:
        """Whether the next frame is a bare token."""
        return self.raw and self.state is State.TOKENS

    def verdict(self, api_key: int, now_ms: int) -> Verdict:
        """Return what is to be done with a request, and note an ApiVersions that passes."""
        if self.state is State.READY and api_key != ApiKey.SASL_HANDSHAKE and self.has_ended(now_ms):
            return Verdict.CLOSE
        found = TABLE[self.state][_COLUMNS.get(api_key, len(_COLUMNS))]
        if self.state is State.NEW and api_key == ApiKey.API_VERSIONS:
            self.state = State.KNOWN
        return found

    def versions_refused(self) -> None:
        """Let the client ask for versions once more: its ApiVersions was answered with an error."""
        if self.state is State.KNOWN:
            self.state = State.NEW

    def has_ended(self, now_ms: int) -> bool:
        """Whether the session is over; a client of SaslAuthenticate v0 was not told that it would be."""
        return self._ends_ms is not None and now_ms > self._ends_ms

    def choose(self, mechanism: str, version: int, now_ms: int) -> ErrorCode:
        """Take a SaslHandshake; after UNSUPPORTED_SASL_MECHANISM the login has failed.

        ILLEGAL_SASL_STATE leaves everything as it is.
        """
        assert self.state is not State.TOKENS, "the table lets no handshake pass here"
        if self.state is State.READY and not self._may_begin_again(now_ms):
            return ErrorCode.ILLEGAL_SASL_STATE
        if mechanism not in self.mechanisms:
            self.state = State.FAILED
            return ErrorCode.UNSUPPORTED_SASL_MECHANISM
        if self.again and mechanism != self.mechanism:
            self._unfit = (
                f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication"
                f" of mechanism '{self.mechanism}'"
            )
        self.mechanism = mechanism
        self.raw = version == 0
        self.state = State.TOKENS
        return ErrorCode.NONE

    def _may_begin_again(self, now_ms: int) -> bool:
        if self._ends_ms is None:
            return False
        if self._again_ms is not None and now_ms - self._again_ms < AGAIN_MS_MIN:
            return False
        self._again_ms = now_ms
        return True

    def check_mechanism(self) -> None:
        """Refuse a token of a mechanism other than that of the first login.  Raises: LoginRefused."""
        assert self.state is State.TOKENS, "the table lets no token pass here"
        if self._unfit:
            raise LoginRefused(self._unfit, answered=False)

    def accept(self, principal: str, now_ms: int, left_ms: int | None = None) -> int:
        """Let the client in, and return how long its session lasts, 0 for one without end.

        `left_ms` is the time that its credentials are valid.  Raises: LoginRefused, if it was another before.
        """
        assert self.state is State.TOKENS, "a login ends after a token"
        if self.again and principal != self.principal:
            why = _changed(self.principal, principal)
            raise LoginRefused(why, told=why)
        self.principal = principal
        self.state = State.READY
        limits = [limit for limit in (self._lifetimes_ms.get(self.mechanism, 0),) if limit > 0]
        if left_ms is not None:
            limits.append(max(left_ms, 0))
        lifetime_ms = min(limits, default=None)
        self._ends_ms = None if lifetime_ms is None else now_ms + lifetime_ms
        return lifetime_ms or 0

    def fail(self) -> None:
        """End the login: nothing more is taken from this client."""
        self.state = State.FAILED


def _changed(before: str, after: str) -> str:
    """Return Kafka's sentence about a client that logs in as another."""
    was, now = before.replace(":", ".", 1), after.replace(":", ".", 1)
    return f"Cannot change principals during re-authentication from {was}: {now}"
