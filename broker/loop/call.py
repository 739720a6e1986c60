"""One request on its way to its answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from broker.loop.last_fetch import LastFetch
    from broker.loop.slices import Offload
    from broker.loop.stats import Cause, Stats
    from broker.security.rights import Rights
    from protocol.headers import RequestHeader
    from protocol.messages.sasl_handshake import SaslHandshakeResponse

RequestT = TypeVar("RequestT")


CALL_BYTES: Final = 3 << 10
"""The memory of a small request and all that is kept about it (measured: 2,980 for a waiting fetch)."""

SMALL_BYTES: Final = 64 << 10
"""Changes of memory below this are not accounted for at once, but once in a turn."""


class Parked:
    """The type of PARKED: a handler returns it after giving the call to a keeper that will answer later."""

    __slots__ = ()


PARKED: Final = Parked()


class CallLogin(Protocol):
    """The login of a connection, as handlers see it."""

    @property
    def is_ready(self) -> bool:
        """Whether the client is logged in."""

    @property
    def by_token(self) -> bool:
        """Whether it has shown a delegation token, and no password of its own."""

    def versions_refused(self) -> None:
        """Let the client ask for versions once more: its ApiVersions was answered with an error."""

    def handshake(self, call: Call[Any]) -> SaslHandshakeResponse | Parked:
        """Take the mechanism that the client has chosen, and answer, or park the call."""

    def authenticate(self, call: Call[Any]) -> Parked:
        """Take a token of the client, and answer the call, perhaps later."""


class ChangeQuota(Protocol):
    """A client's quota on changes of topics."""

    def refuses(self, partitions: int) -> bool:
        """Count a change of so many partitions, or say that it must wait."""


class CallConnection(Protocol):
    """The connection a call came on, as calls and handlers see it."""

    muted_until_ms: int
    """Until when the client waits, as it is above its quota; 0: it does not."""

    stalled: bool
    """Whether requests wait to be read, or may."""

    sliced_ns: int
    """The time that slices of its answers have taken since its socket was served last."""

    principal: str
    """The name that the client has shown, `User:alice`."""

    from_peer: bool
    """Whether it is another node of the cluster, which may do everything."""

    forwarded: bool
    """Whether it stands for a client of another node, which has taken the request."""

    rights: Rights | None
    """What that name may do, once the gate has looked it up; None without an authorizer."""

    client_software: tuple[str, str]
    """The name and version that the client has given for itself, empty when it gave none."""

    last_fetch: LastFetch | None
    """The last fetch that came on it."""

    listener: str
    """The name of the listener that it came to, on an audited server."""

    told_moves: int
    """Up to which move of a node it was told of them (broker/catalogue/moves.py)."""

    @property
    def connected_ms(self) -> int:
        """When it was made, on the broker's clock."""

    @property
    def identity(self) -> int:
        """The connection's number on this node."""

    @property
    def peer(self) -> str:
        """The client's address and port."""

    @property
    def host(self) -> str:
        """The client's address."""

    @property
    def login(self) -> CallLogin | None:
        """The client's login, on listeners that demand one."""

    @property
    def advertised(self) -> tuple[str, int]:
        """The host and port that this client learns for this node."""

    @property
    def use(self) -> Hashable:
        """The account of the memory that clients from this address take."""

    @property
    def stats(self) -> Stats:
        """The counters of the node."""

    @property
    def closed(self) -> bool:
        """True once the client has left."""

    def identify(self, name: str, version: str) -> None:
        """Note the software that the client has given for itself."""

    def answer(self, call: Call[Any], response: object) -> None:
        """Encode and send the call's response, in its turn."""

    def answer_in_thread(self, call: Call[Any], response: object, offload: Offload) -> None:
        """Do the same with a large response, which a thread encodes."""

    def answer_nothing(self, call: Call[Any]) -> None:
        """End the call without a response."""

    def weigh(self, call: Call[Any], size_bytes: int) -> None:
        """Count this much memory for an unanswered call from now on."""

    def may_keep(self, size_bytes: int) -> bool:
        """Whether a waiting call may hold so much: if not, reading would stop for others, too."""

    def decode_heavy(self, decode: Callable[[], None]) -> None:
        """Call `decode` once no other request is in work that takes more than a connection may hold."""

    def decoded_heavy(self) -> None:
        """Note that a request of which this was feared has been weighed."""

    def fetch_room_bytes(self) -> int:
        """Return the most that a fetch should return now."""

    def decoded(self, call: Call[Any]) -> None:
        """Serve later requests again after a call was decoded that is not answered yet."""

    def parked(self) -> None:
        """Note that a call has been parked: however much it holds, it is not in work."""

    def rested(self) -> None:
        """Serve requests again."""

    def begin_work(self, call: Call[Any]) -> None:
        """Serve no later request of the connection until this one is answered or parked."""

    def work_done(self, call: Call[Any]) -> None:
        """Serve later requests again: the call has been parked."""

    def close(self, reason: str, cause: Cause) -> None:
        """Close the connection once everything answered so far is sent."""

    def abort(self, reason: str, cause: Cause) -> None:
        """Close the connection at once."""


class Call(Generic[RequestT]):
    """A decoded request and the way back to its client.

    Exactly one of `reply` and `drop` is called, once; the keeper of a parked call must do it.  Replies of one
    connection leave in the order of its requests, whatever the order in which they are given.
    """

    __slots__ = (
        "amend",
        "answered_ns",
        "api_key",
        "audited",
        "began_ns",
        "changes",
        "client_id",
        "connection",
        "correlation_id",
        "count",
        "data_owned",
        "ends_at",
        "errors",
        "handled_ns",
        "holder",
        "local_ns",
        "logged",
        "output",
        "received_ms",
        "received_ns",
        "released_ns",
        "request",
        "response_bytes",
        "rights",
        "size_bytes",
        "version",
        "weight_bytes",
        "work",
    )

    def __init__(
        self,
        connection: CallConnection,
        header: RequestHeader,
        received_ms: int,
        size_bytes: int,
        data_owned: bool,
        count: int = 1,
    ) -> None:
        self.connection = connection
        self.api_key = header.api_key
        self.version = header.api_version
        self.correlation_id = header.correlation_id
        self.client_id = header.client_id
        self.received_ms = received_ms
        turns = connection.stats.turns
        # As a task of the event loop: its kind, and the time it has taken there.
        self.work = turns.apis.get(header.api_key) or turns.unknown
        self.local_ns = 0
        # Its moments, by the clock of `turns`: broker/loop/request_stats.py has the picture.
        self.received_ns = self.began_ns = self.answered_ns = self.released_ns = turns.began_ns
        self.handled_ns = 0
        # The answer's size, and its end among all bytes sent to the client.
        self.response_bytes = self.ends_at = 0
        # Whether it has a line in the request log, and the error codes of its answer.
        self.logged = False
        self.errors: list[int] | None = None
        # The requests that it stands for: the header is that of the first (requests/repeated_produce.py).
        self.count = count
        # Their size, and the memory that the call is counted with until it is answered.
        self.size_bytes = size_bytes
        self.weight_bytes = size_bytes + count * CALL_BYTES
        # True: slices of the request's bytes stay valid for ever; False: only until the handler returns.
        self.data_owned = data_owned
        self.request: RequestT
        # The parked call's keeper, told when the client goes away: an object with `cancel(call)`.
        self.holder: Any = None
        # The client's rights, None if it may do everything; what is done to the response before it leaves.
        self.rights: Rights | None = None
        self.amend: Callable[[Any], object] | None = None
        # The quota on changes of topics, if its client has one.
        self.changes: ChangeQuota | None = None
        # Told of the response, on an audited server.
        self.audited: Callable[[Any], object] | None = None
        # None while unanswered; the buffers of the whole response afterwards ([] = nothing is sent).
        self.output: list[Any] | None = None

    def amend_with(self, change: Callable[[Any], object]) -> None:
        """Have `change(response)` called before the response is sent, after what is to be done before."""
        before = self.amend
        if before is None:
            self.amend = change
            return

        def both(response: Any) -> None:
            before(response)
            change(response)

        self.amend = both

    def reply(self, response: object) -> None:
        """Answer the call; nothing happens when the client has left."""
        self.holder = None
        if self.amend is not None:
            self.amend(response)
        if self.audited is not None:
            self.audited(response)
        self.connection.answer(self, response)

    def reply_in_thread(self, response: object, offload: Offload) -> None:
        """Answer the call with a long response, which a thread encodes."""
        self.holder = None
        if self.amend is not None:
            self.amend(response)
        if self.audited is not None:
            self.audited(response)
        self.connection.answer_in_thread(self, response, offload)

    def drop(self) -> None:
        """End the call without an answer, as acks=0 demands."""
        self.holder = None
        self.connection.answer_nothing(self)
