"""Requests cut out of a connection's byte stream: an int32 length, then that many bytes.

The driver owns the socket, the reader owns the memory:

    count = socket.recv_into(reader.wanted_buffer())
    reader.received(count)
    while (request := reader.next_request()) is not None:
        ...
    reader.release_buffer()                      when nothing more is readable now

Small requests are parsed in place, many per receive. A request that does not fit the receive buffer gets
memory of its own and is received straight into it, so of a large batch the first 64 KiB are copied, once:

    receive buffer   [ request | request | first part of a ]     valid until the next receive or release
                                           v
    own memory                             [ large request ]     valid for as long as it is referenced

After a large request the next bytes are received into a slab at once: nothing of what follows is copied, if
it fits there, and a system call takes more.

    slab             [ large request | request | first part of a large request ....... ]

Memory follows what a peer has sent, never what it announces: a request's own memory is 32 times the bytes
that have arrived, up to 2 MiB.  If that is all of it, it comes from the slabs (slabs.py), while they have
room: nothing is filled with zeros, and no page is new.  Beyond 2 MiB a request has all the addresses that it
needs, and the kernel gives it memory page by page as bytes arrive: nothing is copied, nor filled with zeros,
which takes 20 ms for 32 MiB.  An idle connection keeps nothing else.

Source: the Kafka protocol guide, "Network"; CVE-2022-34917 for why the length is not trusted.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

from protocol.errors import RequestTooLarge
from protocol.slabs import SlabArena

# Four produce requests of 16 KiB, or 40 small ones, per system call; fits the L2 cache of every machine
# we run on.
BUFFER_BYTES = 64 << 10
# Kafka's socket.request.max.bytes.
REQUEST_BYTES_MAX = 100 << 20
# A full receive buffer times this covers a request with one batch of Kafka's max.message.bytes, 1 MiB.
GROWTH_MAX = 32
FIRST_GRANT_BYTES_MAX = GROWTH_MAX * BUFFER_BYTES
# Bytes received in one call: with the faults of fresh pages about 0.3 ms.
RECEIVE_BYTES_MAX = 512 << 10
# Requests below this share of a receive buffer, 16 KiB, are copied by those that keep them, even from a slab.
OWNED_SHARE = 4
# Buffers kept for the next connections to wake up; any more go back to the allocator.
POOL_BUFFERS_MAX = 64

# The api key with which a Produce request begins.
PRODUCE = b"\0\0"

_LENGTH = struct.Struct(">i")
_LENGTH_BYTES = 4
_NOTHING = memoryview(b"")


class BufferPool:
    """Receive buffers that active connections borrow and idle ones give back; slabs for large requests."""

    __slots__ = ("_free", "buffer_bytes", "buffers_max", "slabs")

    def __init__(
        self,
        buffer_bytes: int = BUFFER_BYTES,
        buffers_max: int = POOL_BUFFERS_MAX,
        *,
        slabs: SlabArena | None = None,
    ) -> None:
        assert buffer_bytes > _LENGTH_BYTES, "a receive buffer holds at least a length and one byte"
        self.buffer_bytes = buffer_bytes
        self.buffers_max = buffers_max
        self.slabs = slabs or SlabArena(0)
        self._free: list[memoryview] = []

    def take(self) -> memoryview:
        """Lend a buffer of `buffer_bytes`; its content is what its last user left."""
        return self._free.pop() if self._free else memoryview(bytearray(self.buffer_bytes))

    def give(self, buffer: memoryview) -> None:
        """Take a buffer back; the borrower's requests in it are void from now on."""
        if len(self._free) < self.buffers_max:
            self._free.append(buffer)


class RequestReader:
    """The receiving half of one connection; see the module's docstring for the order of calls.

    `limit_bytes` may be changed between requests (a connection may send less before it has
    authenticated); `plain_limit_bytes` is about requests other than Produce, which are decoded as a whole and
    then take several times their size. `owned` is about the request that `next_request` returned last: True,
    it has memory of its own and may be kept; False, it lies in the receive buffer and must be copied to be
    kept beyond the next receive or release.
    """

    __slots__ = (
        "_buffer",
        "_bulk",
        "_end",
        "_filled",
        "_in_slab",
        "_is_window",
        "_large",
        "_large_size",
        "_pages_follow",
        "_pool",
        "_pooled",
        "_start",
        "limit_bytes",
        "owned",
        "plain_limit_bytes",
    )

    def __init__(
        self,
        pool: BufferPool,
        limit_bytes: int = REQUEST_BYTES_MAX,
        plain_limit_bytes: int = REQUEST_BYTES_MAX,
    ) -> None:
        self.limit_bytes = limit_bytes
        self.plain_limit_bytes = plain_limit_bytes
        self.owned = False
        self._pool = pool
        self._buffer: memoryview | None = None
        self._start = self._end = 0
        # Whether the receive buffer is to be given back to the pool; else it has the rest of one.
        self._pooled = False
        # Whether it lies in a slab, and is a window there: then its end can be handed out again.
        self._in_slab = self._is_window = False
        # Whether large requests come.
        self._bulk = False
        self._large: memoryview | None = None
        self._large_size = self._filled = 0
        # Whether `_large` takes memory only as it is filled.
        self._pages_follow = False

    @property
    def pending_bytes(self) -> int:
        """The received bytes that are in no returned request; above 0 at a stream's end a request was cut."""
        return self._filled + _LENGTH_BYTES if self._large is not None else self._end - self._start

    @property
    def unfinished_memory_bytes(self) -> int:
        """The memory of the request still coming in; 0 while the receive buffer holds it."""
        if self._large is None:
            return 0
        return self._filled if self._pages_follow else len(self._large)

    @property
    def large_head(self) -> memoryview:
        """The memory of the next request, if it has its own, with all received bytes at its front."""
        return self._large if self._large is not None else _NOTHING

    @property
    def held_bytes(self) -> int:
        """The memory that this connection occupies now, apart from requests it has returned."""
        buffer_bytes = len(self._buffer) if self._buffer is not None else 0
        return buffer_bytes + self.unfinished_memory_bytes

    def wanted_buffer(self) -> memoryview:
        """Return the buffer for the next bytes, never empty; requests not `owned` are void from here on.

        All requests must have been taken before: their memory is reused.
        """
        if self._large is not None:
            return self._large_rest(self._large)
        if self._is_window:
            self.release_buffer()
        buffer = self._buffer
        if buffer is None:
            if self._bulk and (window := self._pool.slabs.window(RECEIVE_BYTES_MAX)) is not None:
                self._buffer, self._in_slab, self._is_window, self._bulk = window, True, True, False
                return window
            buffer = self._buffer = self._pool.take()
            self._pooled = True
        elif not self._pooled:
            buffer = self._refilled(buffer)
        elif self._start:
            start, end = self._start, self._end
            buffer[: end - start] = buffer[start:end]
            self._start, self._end = 0, end - start
        assert self._end < len(buffer), "take the requests before the next receive"
        return buffer[self._end :]

    def received(self, count: int) -> None:
        """Record that `count` bytes were written to the front of the buffer last wanted."""
        if self._large is None:
            self._end += count
        else:
            self._filled += count

    def next_request(self) -> memoryview | None:
        """Return the next whole request without its length, or None when more bytes are needed.

        Raises: RequestTooLarge for a length that is not positive or above `limit_bytes`, before any memory is
        taken; the stream cannot be read any further.
        """
        if self._large is not None:
            return self._finished_large(self._large)
        start, end, buffer = self._start, self._end, self._buffer
        if buffer is None or end - start < _LENGTH_BYTES:
            return None
        length: int = _LENGTH.unpack_from(buffer, start)[0]
        if not 0 < length <= self.limit_bytes:
            raise RequestTooLarge(length, self.limit_bytes)
        start += _LENGTH_BYTES
        if length > self.plain_limit_bytes:
            if end - start < len(PRODUCE):
                return None
            if buffer[start : start + len(PRODUCE)] != PRODUCE:
                raise RequestTooLarge(length, self.plain_limit_bytes)
        stop = start + length
        if stop <= end:
            self._start = stop
            self.owned = self._in_slab and length * OWNED_SHARE >= self._pool.buffer_bytes
            self._bulk |= self.owned
            return buffer[start:stop]
        if length + _LENGTH_BYTES > self._pool.buffer_bytes:
            self._begin_large(length, buffer, start)
        return None

    def release_buffer(self) -> None:
        """Give the receive buffer back; keep an unfinished request's bytes in a copy of exactly their size.

        To be called when there is nothing more to read now. Requests that are not `owned` are void
        from here on.
        """
        buffer = self._buffer
        if buffer is None or not (self._pooled or self._is_window):
            return
        start, end = self._start, self._end
        if start == end and self._pooled:
            self._pool.give(buffer)
            self._buffer = None
            self._start = self._end = 0
            self._pooled = False
            return
        keeps = self._is_window and end - start >= self._pool.buffer_bytes
        rest = buffer[start:end] if keeps else memoryview(bytearray(buffer[start:end]))
        if self._is_window:
            self._pool.slabs.used(end if keeps else start)
        else:
            self._pool.give(buffer)
        self._keep(rest, in_slab=keeps)

    def requests(self, data: bytes | bytearray | memoryview) -> Iterator[memoryview]:
        """Feed `data` as if it had been received and yield the requests it completes (tests, simulations)."""
        rest = memoryview(data)
        while rest:
            wanted = self.wanted_buffer()
            count = min(len(wanted), len(rest))
            wanted[:count] = rest[:count]
            rest = rest[count:]
            self.received(count)
            while (request := self.next_request()) is not None:
                yield request

    def _keep(self, rest: memoryview, *, in_slab: bool = False) -> None:
        """Have no receive buffer but the rest of one, if it has any bytes."""
        self._buffer = rest or None
        self._start, self._end = 0, len(rest)
        self._pooled = self._is_window = False
        self._in_slab = in_slab

    def _refilled(self, rest: memoryview) -> memoryview:
        """Borrow a buffer again and put the kept bytes of an unfinished request at its front."""
        rest = rest[self._start : self._end]
        assert len(rest) < self._pool.buffer_bytes, "take the requests before the next receive"
        buffer = self._pool.take()
        buffer[: len(rest)] = rest
        self._keep(buffer)
        self._end, self._pooled = len(rest), True
        return buffer

    def _begin_large(self, length: int, buffer: memoryview, start: int) -> None:
        """Begin a request whose first bytes are those from `start` on."""
        arrived = buffer[start : self._end]
        slabs = self._pool.slabs
        self._large_size, self._filled = length, len(arrived)
        if not self._in_slab:
            # It grows as bytes are read: a connection that is held back here has taken no memory in advance.
            self._large = memoryview(bytearray(arrived))
            self._start = self._end = 0
            return
        self._bulk = True
        claimed = None
        if self._is_window and len(arrived) * GROWTH_MAX >= length:
            claimed = slabs.claim(start, length)
        if claimed is None and self._is_window:
            slabs.used(self._end)
        self._large = arrived if claimed is None else claimed
        self._keep(_NOTHING)

    def _large_rest(self, large: memoryview) -> memoryview:
        filled = self._filled
        if filled == len(large):
            assert filled < self._large_size, "take the requests before the next receive"
            grown = self._grown(filled)
            grown[:filled] = large
            self._large = large = grown
        return large[filled : filled + RECEIVE_BYTES_MAX]

    def _grown(self, filled: int) -> memoryview:
        """Return more memory for a request of which `filled` bytes have arrived."""
        size = self._large_size
        if filled < FIRST_GRANT_BYTES_MAX:
            grant = max(BUFFER_BYTES, min(filled * GROWTH_MAX, FIRST_GRANT_BYTES_MAX))
            if grant >= size and (lease := self._pool.slabs.take(size)) is not None:
                return lease
            return memoryview(bytearray(min(size, grant)))
        self._pages_follow = True
        return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))

    def _finished_large(self, large: memoryview) -> memoryview | None:
        if self._filled < self._large_size:
            return None
        self._large = None
        self._large_size = self._filled = 0
        self._pages_follow = False
        self.owned = self._bulk = True
        return large
