"""The login of one connection: tokens in, answers out, and what it does to the connection.

    request --admits--> handshake --> authenticate, perhaps several times --> the connection has a principal
        \\--> the end                        \\--> after a delay: an answer, the end

broker/security/sasl_session.py has the order of requests.  A login that fails is answered after
connection.failed.authentication.delay.ms: a timer waits, and meanwhile nothing is read from this client.
Passwords whose check takes long wait for a thread (broker/connections/login_queue.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from broker.config.sasl_settings import SaslSettings
from broker.connections.client_record import ClientRecord
from broker.connections.login_queue import LoginQueue
from broker.loop.answers import RawAnswer
from broker.loop.call import PARKED, Call, CallConnection, Parked
from broker.loop.loop import Loop
from broker.loop.security_stats import FAILED, OK
from broker.loop.stats import Cause
from broker.loop.timers import Timer
from broker.security.sasl_exchange import Accepted, Challenge, Exchange, LoginRefused, Outcome, Pending
from broker.security.sasl_session import SaslSession, State, Verdict
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.framing import RequestReader
from protocol.headers import RequestHeader
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

NO_LOGIN: Final = "a request that needs a login came before it"
SESSION_OVER: Final = "the session is over, and the client did not log in again"


class LoginConnection(CallConnection, Protocol):
    """A connection as its login sees it."""

    principal: str
    """The name by which its client is known."""
    listener: str
    """The name of the listener that it came to."""
    ready_by_ms: int | None
    """The moment at which the login must be done."""
    reader: RequestReader
    client: ClientRecord

    def open(self, header: RequestHeader, size_bytes: int, *, data_owned: bool, now_ms: int) -> Call[Any]:
        """Return the call of a request with this header."""

    def note_refused(self, why: str) -> None:
        """Log that the client was not let in."""


class Login:
    """The login of a connection; it judges every request, also after its end."""

    __slots__ = (
        "_connection",
        "_exchange",
        "_limits",
        "_loop",
        "_make",
        "_queue",
        "_settings",
        "by_token",
        "session",
    )

    def __init__(
        self,
        connection: LoginConnection,
        settings: SaslSettings,
        make: Callable[[str], Exchange],
        *,
        loop: Loop,
        queue: LoginQueue,
    ) -> None:
        """`make` returns a new exchange of a mechanism."""
        self._connection = connection
        self._settings = settings
        self._make = make
        self._loop = loop
        self._queue = queue
        self._exchange: Exchange | None = None
        self.by_token = False
        """Whether the client has shown a delegation token."""
        self.session = SaslSession(settings.mechanisms, settings.lifetimes_ms)
        reader = connection.reader
        self._limits = reader.limit_bytes, reader.plain_limit_bytes
        self._limit_requests()

    def _limit_requests(self) -> None:
        reader, most = self._connection.reader, self._settings.receive_bytes_max
        reader.limit_bytes, reader.plain_limit_bytes = (min(limit, most) for limit in self._limits)

    def leave(self) -> None:
        """Stop judging: the client turned out to be a node, whose requests may be as long as any."""
        self._connection.reader.limit_bytes, self._connection.reader.plain_limit_bytes = self._limits

    @property
    def is_ready(self) -> bool:
        """Whether the client is logged in, and not about to do so once more."""
        return self.session.state is State.READY

    @property
    def expects_raw(self) -> bool:
        """Whether the next frame is a bare token."""
        return self.session.expects_raw

    def versions_refused(self) -> None:
        """Let the client ask for versions once more: its ApiVersions was answered with an error."""
        self.session.versions_refused()

    # --- requests ----------------------------------------------------------------------------------------

    def admits(self, call: Call[Any], now_ms: int) -> bool:
        """Whether a request may be decoded and handled; if not, it and its connection are done with."""
        if self.expects_raw:
            self.authenticate(call)
            return False
        match self.session.verdict(call.api_key, now_ms):
            case Verdict.PASS:
                return True
            case Verdict.ILLEGAL if call.api_key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE):
                why = "a request other than SaslAuthenticate came in a login"
                self._end(call, why, _illegal(call.api_key))
            case _ if self.session.state is State.READY:
                call.connection.close(SESSION_OVER, Cause.REFUSED)
            case _:
                self._count(FAILED)
                self._connection.note_refused(NO_LOGIN)
                call.connection.close(NO_LOGIN, Cause.SETUP)
        return False

    def lets_pass(self, api_key: int, now_ms: int) -> bool:
        """Whether a request of this API would be admitted, and nothing would be told of it."""
        return not self.expects_raw and self.session.verdict(api_key, now_ms) is Verdict.PASS

    def open_raw(self, data: memoryview, now_ms: int) -> Call[Any]:
        """Return the call of a bare token."""
        header = RequestHeader(
            api_key=ApiKey.SASL_AUTHENTICATE, api_version=0, correlation_id=0, client_id=None, size_bytes=0
        )
        call = self._connection.open(header, len(data), data_owned=True, now_ms=now_ms)
        call.request = SaslAuthenticateRequest(auth_bytes=bytes(data))
        return call

    def handshake(self, call: Call[Any]) -> SaslHandshakeResponse | Parked:
        """Take the mechanism that the client has chosen."""
        request: SaslHandshakeRequest = call.request
        session = self.session
        code = session.choose(request.mechanism, call.version, call.received_ms)
        if code == ErrorCode.ILLEGAL_SASL_STATE:
            return SaslHandshakeResponse(error_code=code, mechanisms=[])
        response = SaslHandshakeResponse(error_code=code, mechanisms=list(session.mechanisms))
        if code:
            self._end(call, f"the SASL mechanism {request.mechanism!r} is not enabled", response)
            return PARKED
        self._limit_requests()
        self._exchange = self._make(request.mechanism)
        return response

    def authenticate(self, call: Call[Any]) -> Parked:
        """Take a token of the client, and answer the call, perhaps later."""
        assert self._exchange is not None, "a mechanism was chosen"
        try:
            self.session.check_mechanism()
            step = self._exchange.step(bytes(call.request.auth_bytes))
        except LoginRefused as refused:
            self._refuse(call, refused)
            return PARKED
        if isinstance(step, Pending):
            call.connection.begin_work(call)
            connection = call.connection
            self._queue.check(
                connection.host, step.work, partial(self._found, call), wanted=lambda: not connection.closed
            )
        else:
            self._take(call, step)
        return PARKED

    def _found(self, call: Call[Any], result: Outcome | LoginRefused) -> None:
        if isinstance(result, LoginRefused):
            self._refuse(call, result)
        else:
            self._take(call, result)

    # --- outcomes ----------------------------------------------------------------------------------------

    def _take(self, call: Call[Any], step: Outcome) -> None:
        lifetime_ms = 0
        if isinstance(step, Accepted):
            try:
                lifetime_ms = self._accept(step)
            except LoginRefused as refused:
                self._refuse(call, refused)
                return
        call.reply(self._answer(step, lifetime_ms))

    def _accept(self, step: Accepted) -> int:
        """Let the client in; return the length of its session.  Raises: LoginRefused."""
        clock, connection = self._loop.clock, self._connection
        left_ms = None if step.until_wall_ms is None else step.until_wall_ms - clock.wall_ms(clock.turn_ms)
        audit = connection.stats.audit
        if audit is not None and audit.blocked:
            from broker.security.audit_trail import refusal_text  # most servers have no audit log

            raise LoginRefused(refusal_text(audit.blocked))
        principal = f"User:{step.user}"
        lifetime_ms = self.session.accept(principal, clock.turn_ms, left_ms)
        self._exchange = None
        self.by_token = step.by_token
        connection.principal = principal
        connection.ready_by_ms = None
        connection.reader.limit_bytes, connection.reader.plain_limit_bytes = self._limits
        self._count(OK, by_token=step.by_token)
        if audit is not None:
            audit.accepted(connection, self.session.mechanism)
        return lifetime_ms

    def _answer(self, step: Challenge | Accepted, lifetime_ms: int) -> object:
        if self.session.raw:
            return RawAnswer([step.data] if step.data else [])
        return SaslAuthenticateResponse(
            error_message="", auth_bytes=step.data, session_lifetime_ms=lifetime_ms
        )

    def _refuse(self, call: Call[Any], refused: LoginRefused) -> None:
        session = self.session
        again = "re-authentication" if session.again else "authentication"
        told = refused.told or (
            f"Authentication failed during {again} due to invalid credentials with SASL mechanism"
            f" {session.mechanism}"
        )
        response = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=told, auth_bytes=b""
        )
        self._end(
            call,
            f"{session.mechanism}: {refused}",
            None if session.raw or not refused.answered else response,
            by_token=refused.by_token,
        )

    def _end(self, call: Call[Any], why: str, response: object | None, *, by_token: bool = False) -> None:
        """Log the failure now; after the delay answer, if there is an answer, and close."""
        self._count(FAILED, by_token=by_token)
        self.session.fail()
        self._exchange = None
        self._connection.note_refused(why)
        call.connection.begin_work(call)
        _Ending(call, response, why).begin(self._loop, self._settings.failure_delay_ms)

    def _count(self, outcome: str, *, by_token: bool = False) -> None:
        connection = self._connection
        counts = connection.stats.logins
        counts.login(connection.listener, self.session.mechanism, outcome, by_token=by_token)


class _Ending:
    """A failed login that waits for its answer."""

    __slots__ = ("_call", "_response", "_timer", "_why")

    def __init__(self, call: Call[Any], response: object | None, why: str) -> None:
        self._call = call
        self._response = response
        self._why = why

    def begin(self, loop: Loop, delay_ms: int) -> None:
        """Wait."""
        self._call.holder = self
        self._timer: Timer = loop.timers.add(loop.clock.turn_ms + delay_ms, self._end)

    def _end(self, _now_ms: int) -> None:
        call = self._call
        if self._response is None:
            call.drop()
        else:
            call.reply(self._response)
        call.connection.close(self._why, Cause.SETUP)

    def cancel(self, _call: Call[Any]) -> None:
        """Forget the answer: the client has left."""
        self._timer.cancel()


def _illegal(api_key: int) -> object:
    """Return the answer to a request that came in the midst of a login."""
    if api_key == ApiKey.API_VERSIONS:
        return ApiVersionsResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, api_keys=[])
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
