"""One client connection without its socket: frames in, calls out, replies back in request order.

    bytes --FrameReader--> frame --open_call--> Call --broker--> answer --encode--> outgoing buffers

Kafka's clients pipeline and match answers by position (kafka-python closes the connection on an
out-of-order correlation id), so an answer given early waits until all before it are given.  A produce with
acks=0 takes no place in the answers at all.
"""

from __future__ import annotations

import logging
import struct
from collections import deque
from typing import Any, Final

from broker.call import Call
from protocol.errors import Unencodable
from protocol.framing import BufferPool, FrameReader
from protocol.headers import decode_request_header, encode_response_header
from protocol.wire import encode

logger = logging.getLogger("kawal.broker")

CALLS_IN_FLIGHT_MAX: Final = 10_000
"""Unanswered calls of one connection before it is no longer read; librdkafka may pipeline thousands."""

OUTGOING_BYTES_MAX: Final = 16 * 1024 * 1024
"""Unsent answer bytes of one connection before it is no longer read: a slow reader costs this, not more."""

REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bytes of unanswered requests of one connection before it is no longer read (one frame may exceed it)."""

_SIZE: Final = struct.Struct(">i")


class Connection:
    """What the broker knows of one client's connection.

    `outgoing` holds the buffers to be sent, in order: bytes-like objects and file ranges (anything with
    `size_bytes`).  The shell removes what it sent and reports it by `sent`.
    """

    __slots__ = (
        "calls",
        "client_software",
        "close_reason",
        "closed",
        "descriptor",
        "dirty",
        "identity",
        "outgoing",
        "outgoing_bytes",
        "peer",
        "reader",
        "request_bytes",
        "stalled",
        "told",
        "unsent",
    )

    def __init__(
        self,
        *,
        identity: int,
        peer: str,
        frame_bytes_max: int,
        pool: BufferPool,
        unsent: list[Connection],
        told: tuple[str, int] = ("127.0.0.1", 9092),
        descriptor: int = -1,
    ) -> None:
        self.identity = identity
        self.peer = peer
        # The shell's number of the socket, and the address it tells this client to connect to.
        self.descriptor = descriptor
        self.told = told
        self.reader = FrameReader(pool, frame_bytes_max)
        self.calls: deque[Call[Any]] = deque()
        self.request_bytes = 0
        self.outgoing: deque[Any] = deque()
        self.outgoing_bytes = 0
        self.client_software = ("", "")
        # Set: the shell sends what is outgoing, then closes and logs this reason.
        self.close_reason: str | None = None
        self.closed = False
        # True while the connection is listed with the broker as having something to send.
        self.dirty = False
        self.unsent = unsent
        # True: the reader still holds whole frames that were left while the connection was saturated.
        self.stalled = False

    @property
    def host(self) -> str:
        """The peer's address without its port."""
        return self.peer.rpartition(":")[0].strip("[]")

    @property
    def saturated(self) -> bool:
        """True while nothing more may be read from the client: stop reading, never drop."""
        return (
            self.outgoing_bytes > OUTGOING_BYTES_MAX
            or self.request_bytes > REQUEST_BYTES_MAX
            or len(self.calls) > CALLS_IN_FLIGHT_MAX
        )

    def open_call(self, frame: memoryview, *, frame_owned: bool, now_ms: int) -> tuple[Call[Any], int]:
        """Read a frame's header and take a place in the order of the answers; also where the body begins.

        Raises:
            Malformed: the frame is too short for a header or its strings lie.
        """
        header = decode_request_header(frame)
        call: Call[Any] = Call(
            connection=self,
            api_key=header.api_key,
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            received_ms=now_ms,
            frame_size_bytes=len(frame),
            frame_owned=frame_owned,
        )

        self.calls.append(call)
        self.request_bytes += len(frame)
        return call, header.size_bytes

    def answer(self, call: Call[Any], response: object) -> None:
        """Encode the call's answer and send all that is now in order."""
        assert call.output is None, "a call is answered once"
        if self.closed:
            call.output = []
            return
        try:
            output = encode_frame(call, response)
        except Unencodable:
            # Our own bug: this client is told by the end of its connection, the others live on.
            logger.exception(
                "connection %d closed: the answer to api=%d v%d cannot be written",
                self.identity,
                call.api_key,
                call.version,
            )
            self.close("internal error")
            output = []
        self._release(call, output)

    def answer_nothing(self, call: Call[Any]) -> None:
        """Free the call's place in the order of the answers."""
        assert call.output is None, "a call is answered once"
        self._release(call, [])

    def _release(self, call: Call[Any], output: list[Any]) -> None:
        call.output = output
        calls = self.calls
        while calls and calls[0].output is not None:
            done = calls.popleft()
            self.request_bytes -= done.frame_size_bytes
            assert done.output is not None
            for part in done.output:
                self.outgoing.append(part)
                self.outgoing_bytes += part_size_bytes(part)
        if self.outgoing and not self.dirty:
            self.dirty = True
            self.unsent.append(self)

    def close(self, reason: str) -> None:
        """Ask the shell to close the connection once everything answered so far is sent."""
        if self.close_reason is None:
            self.close_reason = reason
            if not self.dirty:
                self.dirty = True
                self.unsent.append(self)

    def sent(self, size_bytes: int) -> None:
        """Account for bytes that have left; the shell has already taken them off `outgoing`."""
        self.outgoing_bytes -= size_bytes
        assert self.outgoing_bytes >= 0, "more was sent than was outgoing"

    def lost(self) -> None:
        """The client is gone: withdraw every parked call and forget what was to be sent."""
        self.closed = True
        self.reader.release_buffer()
        self.outgoing.clear()
        self.outgoing_bytes = 0
        for call in self.calls:
            if call.holder is not None:
                call.holder.cancel(call)
                call.holder = None
        self.calls.clear()


def part_size_bytes(part: Any) -> int:
    """The number of bytes one outgoing part puts on the wire."""
    size = getattr(part, "size_bytes", None)
    return len(part) if size is None else int(size)


def encode_frame(call: Call[Any], response: object) -> list[Any]:
    """The buffers of one response frame: int32 size, header, body; record payloads stay separate."""
    parts: list[Any] = encode(response, call.version)
    header = encode_response_header(call.api_key, call.version, call.correlation_id)
    size = len(header) + sum(map(part_size_bytes, parts))
    if parts and isinstance(parts[0], bytes | bytearray):
        parts[0] = b"".join((_SIZE.pack(size), header, parts[0]))
    else:
        parts.insert(0, _SIZE.pack(size) + header)
    return parts
