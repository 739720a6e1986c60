"""Many consumers in one thread, each on a socket of its own, that wait for records of a topic.

They name their software, as librdkafka and Java do, and read only the header of each batch: what is measured
is the server. `seconds_used` is their own CPU time, so that a reader can see that they did not slow the
server down.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Sequence
from math import inf
from struct import Struct
from types import TracebackType

from benchmarks.clients.fetch_wire import HELLO, AnswerReader, FetchFrame

_INT32 = Struct(">i")
RECEIVE_BYTES = 4 << 20
EVENTS = 1_024


class _One:
    """One consumer: its socket, its position, and the bytes that have come in."""

    __slots__ = ("_frame", "_greeted", "_part", "_reader", "bytes", "offset", "socket")

    def __init__(self, port: int, topic: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.offset = 0
        self.bytes = 0
        self._part = bytearray()
        self._frame = FetchFrame(topic)
        self._reader = AnswerReader(topic)
        self._greeted = False
        self.socket.sendall(HELLO)

    def take(self, buffer: bytearray, delays: list[float]) -> int:
        """Read what is there and fetch again; return the number of fetches answered."""
        count = self.socket.recv_into(buffer)
        assert count, "the server has closed the connection"
        self.bytes += count
        if not self._part and count >= 4 and _INT32.unpack_from(buffer)[0] + 4 == count:
            return self._answered(buffer, delays)
        self._part += memoryview(buffer)[:count]
        if len(self._part) < 4 or len(self._part) < 4 + _INT32.unpack_from(self._part)[0]:
            return 0
        # One fetch is in flight: nothing comes after its answer.
        answered = self._answered(self._part, delays)
        self._part = bytearray()
        return answered

    def _answered(self, data: bytearray, delays: list[float]) -> int:
        answered = 0
        if self._greeted:
            answer = self._reader.read(data, 0)
            self.offset = max(self.offset, answer.next_offset)
            if answer.oldest_ms >= 0:
                delays.append(time.time() - answer.oldest_ms / 1_000)
            answered = 1
        self._greeted = True
        self.socket.send(self._frame.at(self.offset))
        return answered


class IdleConsumers:
    """A consumer for each of the topics; `run` lets them work for a while.

    `delays` are the seconds from the time stamp of an answer's oldest record to its arrival, for each answer
    that has records. Clear the list to start a new period.
    """

    def __init__(self, port: int, topics: Sequence[str]) -> None:
        self.answers = 0
        self.seconds_used = 0.0
        self.delays: list[float] = []
        self._buffer = bytearray(RECEIVE_BYTES)
        self._poll = select.epoll()
        self._all: dict[int, _One] = {}
        for topic in topics:
            consumer = _One(port, topic)
            self._all[consumer.socket.fileno()] = consumer
            self._poll.register(consumer.socket.fileno(), select.EPOLLIN)

    def __enter__(self) -> IdleConsumers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for consumer in self._all.values():
            consumer.socket.close()
        self._poll.close()

    @property
    def bytes(self) -> int:
        """The number of bytes received so far."""
        return sum(consumer.bytes for consumer in self._all.values())

    def run(self, seconds: float) -> None:
        """Handle what comes for this long."""
        began, ends = time.thread_time(), time.monotonic() + seconds
        every, buffer, delays, answers = self._all, self._buffer, self.delays, 0
        while (left := ends - time.monotonic()) > 0:
            for descriptor, _ in self._poll.poll(left, EVENTS):
                answers += every[descriptor].take(buffer, delays)
        self.answers += answers
        self.seconds_used += time.thread_time() - began

    def run_until(self, done: Callable[[], bool], *, within_seconds: float) -> float:
        """Go on until `done()`; return the seconds taken, or infinity when time ran out."""
        began = time.monotonic()
        while not done():
            if time.monotonic() - began > within_seconds:
                return inf
            self.run(0.02)
        return time.monotonic() - began

    def run_until_all_at(self, end: int, *, within_seconds: float) -> float:
        """Go on until every consumer is at `end`; return the seconds taken, or infinity when time ran out."""
        return self.run_until(
            lambda: all(consumer.offset >= end for consumer in self._all.values()),
            within_seconds=within_seconds,
        )

    @staticmethod
    def bytes_of_topic(port: int, topic: str, end: int) -> int:
        """Return the size of all answers to a consumer that reads the topic to its end."""
        with IdleConsumers(port, [topic]) as consumers:
            consumers.run_until_all_at(end, within_seconds=120)
            return consumers.bytes
