"""The requests of a node to the others: of a worker to those of its data directory, over their Unix sockets.

Nodes of several machines reach each other by the same links, over TCP (broker/server/node_wires.py).

    the loop --call--> a thread: its connection to that worker, one request, one answer --done--> the loop

Each thread has a connection of its own to each worker, made at the first request and kept.  Any error closes
it; the next request makes another.  A request is never sent twice: it may have been carried out.
A worker that has died still has its socket, which the supervisor keeps; it answers when it runs again.
"""

from __future__ import annotations

import logging
import math
import socket
import struct
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from broker.server.link_counts import LinkCounts
from protocol.errors import ProtocolError
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.schema import declaration
from protocol.wire import decode, encode, joined

logger = logging.getLogger("kawal.server")

ANSWER_SECONDS: Final = 30.0
"""The time after which a call has failed, from when it was made.  A request that lets the other worker wait
must name less."""

RETRY_SECONDS: Final = 0.05
"""The pause after a worker that has just ended, before it is asked again at a start."""

ANSWER_BYTES_MAX: Final = 1 << 30

LOG_SECONDS: Final = 60.0
"""A node that is away is asked ten times in a second; the log says so once in this time."""

WAIT_LOG_SECONDS: Final = 3.0
"""The time for which a start waits in silence."""

_SIZE: Final = struct.Struct(">i")

Submit = Callable[[int, Callable[[], object], Callable[[Exception | None], None]], None]
"""Runs work in a thread that waits for this node alone, then `done(error)` on the loop."""


class LinkBroken(ConnectionError):
    """The other worker has closed the connection, or what it sent is no answer."""


class Wire(Protocol):
    """The way to connect to one other node, for one thread."""

    def connect(self, ends: float) -> socket.socket:
        """Return a connection on which the other node takes requests.  Raises: OSError."""

    def is_over(self, sock: socket.socket, request: Any) -> bool:
        """Whether a connection that was made is not to be used for one more request."""

    def told(self, request: Any) -> Any:
        """Return the request as the other node is to get it."""


class UnixWire:
    """The way to a worker of the same directory."""

    def __init__(self, address: str) -> None:
        self._address = address

    def connect(self, ends: float) -> socket.socket:
        """Connect to its socket."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            sock.settimeout(left(ends))
            sock.connect(self._address)
        except BaseException:
            sock.close()
            raise
        return sock

    def is_over(self, sock: socket.socket, _request: Any) -> bool:
        """Whether the worker has closed it."""
        return has_ended(sock)

    def told(self, request: Any) -> Any:
        """Return the same request: all workers have one clock."""
        return request


class Link:
    """A connection to another node, for one thread; it is made when it is needed."""

    def __init__(self, wire: Wire, client_id: str, connected: Callable[[], None] = lambda: None) -> None:
        """Connect by a wire; `connected` is called after each connection that was made."""
        self._wire = wire
        self._client_id = client_id
        self._connected_to = connected
        self._socket: socket.socket | None = None
        self._correlation_id = 0

    def exchange(self, request: Any, version: int, ends: float) -> Any:
        """Send a request and return its answer, by the moment `ends` of the monotonic clock.

        Raises: OSError, and the connection is closed.
        """
        try:
            sock = self._connected(ends, request)
            self._correlation_id += 1
            words = self._wire.told(request), version, self._correlation_id
            return exchange(sock, *words, client_id=self._client_id, ends=ends)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self, ends: float, request: Any) -> socket.socket:
        if self._socket is not None and self._wire.is_over(self._socket, request):
            # The node has started again since, or had heard nothing for long: no request is lost by that.
            self.close()
        if self._socket is None:
            self._socket = self._wire.connect(ends)
            self._connected_to()
        return self._socket


def exchange(
    sock: socket.socket, request: Any, version: int, correlation_id: int, *, client_id: str, ends: float
) -> Any:
    """Send a request and return its answer, by the moment `ends` of the monotonic clock.  Raises: OSError."""
    sock.settimeout(left(ends))
    sock.sendall(request_frame(request, version, correlation_id, client_id))
    return answer_in(_frame(sock, ends), request, version, correlation_id)


def request_frame(request: Any, version: int, correlation_id: int, client_id: str) -> bytes:
    """Return the bytes of a request."""
    header = encode_request_header(
        api_key=_api_of(request), api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    frame = header + joined(encode(request, version))
    return _SIZE.pack(len(frame)) + frame


def answer_in(data: memoryview, request: Any, version: int, correlation_id: int) -> Any:
    """Return the answer that a frame holds.  Raises: LinkBroken, if it is none to this request."""
    api = _api_of(request)
    try:
        found, position = decode_response_header(api, version, data)
        if found != correlation_id:
            raise LinkBroken(f"it answered request {found}, and {correlation_id} was sent")
        answer, _ = decode(response_type(api), version, data, position)
    except ProtocolError as error:
        raise LinkBroken(f"its answer cannot be read: {error}") from error
    return answer


def _api_of(request: Any) -> int:
    api = declaration(type(request)).api
    assert api is not None, type(request)
    return api


def left(ends: float) -> float:
    """Return the seconds until a moment.  Raises: TimeoutError."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError("it has not answered in time")
    return left


def _frame(sock: socket.socket, ends: float) -> memoryview:
    (size_bytes,) = _SIZE.unpack(_read(sock, _SIZE.size, ends))
    if not 0 < size_bytes <= ANSWER_BYTES_MAX:
        raise LinkBroken(f"it announces an answer of {size_bytes} bytes")
    return _read(sock, size_bytes, ends)


def _read(sock: socket.socket, size_bytes: int, ends: float) -> memoryview:
    data = memoryview(bytearray(size_bytes))
    filled = 0
    while filled < size_bytes:
        sock.settimeout(left(ends))
        count = sock.recv_into(data[filled:])
        if not count:
            raise LinkBroken("it closed the connection")
        filled += count
    return data


def has_ended(sock: socket.socket) -> bool:
    """Whether the other side has closed a connection on which nothing is expected."""
    sock.settimeout(0)
    try:
        sock.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
    # Its end, or bytes that no request asked for.
    return True


class SilentNodes:
    """The log of nodes that do not answer: a line for the first time, then one in a minute."""

    def __init__(self) -> None:
        self._logged: dict[int, float] = {}
        self._since = time.monotonic()

    def note(self, node_id: int, request: Any, error: Exception | None) -> None:
        """Note the outcome of a request."""
        if error is None:
            if self._logged.pop(node_id, None) is not None:
                logger.info("node %d answers again", node_id)
        elif self._may_log(node_id):
            logger.warning("node %d does not answer %s: %s", node_id, type(request).__name__, error)

    def wait(self, node_id: int, error: Exception) -> None:
        """Note that a node is waited for at the start; workers start together, and wait for a moment."""
        if time.monotonic() - self._since > WAIT_LOG_SECONDS and self._may_log(node_id):
            logger.warning("waiting for node %d: %s", node_id, error)

    def _may_log(self, node_id: int) -> bool:
        now = time.monotonic()
        if now - self._logged.get(node_id, -math.inf) < LOG_SECONDS:
            return False
        self._logged[node_id] = now
        return True


class PeerLinks:
    """The other nodes, by their node ids."""

    def __init__(self, client_id: str, wire: Callable[[int], Wire], submit: Submit) -> None:
        """`wire(node_id)` makes a way to a node, for one thread; `submit` runs work in a thread."""
        self._client_id = client_id
        self._wire = wire
        self._submit = submit
        self._of_thread = threading.local()
        self._silent = SilentNodes()
        self.counts = LinkCounts()

    def call(self, node_id: int, request: Any, version: int, done: Callable[[Any | None], None]) -> None:
        """Send a request to another node; `done(answer)`, or `done(None)`, is called in a later turn."""
        ends = time.monotonic() + ANSWER_SECONDS
        answers: list[Any] = []

        def work() -> None:
            answers.append(self._link(node_id).exchange(request, version, ends))

        def ended(error: Exception | None) -> None:
            if error is not None:
                self.counts.failed(node_id)
            self._silent.note(node_id, request, error)
            done(answers[0] if answers else None)

        self._submit(node_id, work, ended)

    def ask(
        self, node_id: int, request: Any, version: int, *, within_seconds: float = math.inf
    ) -> Any | None:
        """Send a request to another node and wait for the answer, before the loop runs.

        A node that ends meanwhile, or is not yet there, is asked again until the time is over: then the
        answer is None.
        """
        ends = time.monotonic() + within_seconds
        while (now := time.monotonic()) < ends:
            try:
                return self._link(node_id).exchange(request, version, min(ends, now + ANSWER_SECONDS))
            except OSError as error:
                self._silent.wait(node_id, error)
            time.sleep(min(RETRY_SECONDS, max(0, ends - time.monotonic())))
        return None

    def _link(self, node_id: int) -> Link:
        links: dict[int, Link] | None = getattr(self._of_thread, "links", None)
        if links is None:
            links = self._of_thread.links = {}
        if node_id not in links:
            connected = partial(self.counts.connected, node_id)
            links[node_id] = Link(self._wire(node_id), self._client_id, connected)
        return links[node_id]
