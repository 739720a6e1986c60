"""One request on its way to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from broker.connections.connection import Connection
    from protocol.headers import RequestHeader

RequestT = TypeVar("RequestT")


class Parked:
    """The type of PARKED: a handler returns it after giving the call to somebody who will answer later."""

    __slots__ = ()


PARKED: Final = Parked()


class Call(Generic[RequestT]):
    """A decoded request and the way back to its client.

    Exactly one of `reply` and `drop` is called, once; whoever holds a parked call must do it.  Replies of
    one connection leave in the order of its requests, however they are given.
    """

    __slots__ = (
        "api_key",
        "client_id",
        "connection",
        "correlation_id",
        "frame_owned",
        "frame_size_bytes",
        "holder",
        "output",
        "received_ms",
        "received_ns",
        "request",
        "version",
    )

    def __init__(
        self,
        connection: Connection,
        header: RequestHeader,
        received_ms: int,
        frame_size_bytes: int,
        frame_owned: bool,
    ) -> None:
        self.connection = connection
        self.api_key = header.api_key
        self.version = header.api_version
        self.correlation_id = header.correlation_id
        self.client_id = header.client_id
        self.received_ms = received_ms
        # By the clock of `broker.stats`, for durations only.
        self.received_ns = connection.stats.turn_began_ns
        self.frame_size_bytes = frame_size_bytes
        # True: slices of the request's frame stay valid for ever; False: only until the handler returns.
        self.frame_owned = frame_owned
        self.request: RequestT
        # The parked call's keeper, told when the client goes away: an object with `cancel(call)`.
        self.holder: Any = None
        # None while unanswered; the buffers of the whole response frame afterwards ([] = nothing is sent).
        self.output: list[Any] | None = None

    def reply(self, response: object) -> None:
        """Answer the call; nothing happens when the client is gone."""
        self.holder = None
        self.connection.answer(self, response)

    def drop(self) -> None:
        """End the call without an answer, as acks=0 demands."""
        self.holder = None
        self.connection.answer_nothing(self)
