"""Loads on raw sockets, where the client's own microseconds would count: latency and small requests."""

from __future__ import annotations

import select
import selectors
import socket
import struct
import time
from collections import deque

from benchmarks.clients import wire
from benchmarks.clients.jobs import Figures, FixedRateJob, Job, LoadError, OneInFlightJob, SmallRequestsJob
from benchmarks.summary import percentile

WARM_UP_REQUESTS = 200
RECEIVE_BYTES = 1 << 16
DRAIN_SECONDS = 10.0


def one_in_flight(job: OneInFlightJob) -> Figures:
    """Send requests one after the other; time each from the first byte out to the last byte in.

    Raises: BrokerError if one is refused.
    """
    connection, frame = _ready(job, job.record_bytes)
    latencies: list[float] = []
    deadline = time.perf_counter() + job.seconds
    before = time.perf_counter()
    while before < deadline:
        answer = connection.call(frame)
        after = time.perf_counter()
        latencies.append(after - before)
        _refuse_errors(answer)
        before = time.perf_counter()
    return _latency_figures(latencies)


def fixed_rate(job: FixedRateJob) -> Figures:
    """Send a request at every tick, however late the answers are (no coordinated omission).

    Raises: BrokerError if one is refused; LoadError if answers are missing at the end.
    """
    payload_bytes = round(job.bytes_per_second * job.tick_ms / 1_000)
    connection, frame = _ready(job, payload_bytes)
    ticks = round(job.seconds * 1_000 / job.tick_ms)
    first = time.perf_counter() + 0.01
    intended = [first + tick * job.tick_ms / 1_000 for tick in range(ticks)]
    latencies, last_sent = _run_ticks(connection, frame, intended)
    figures = _latency_figures(latencies)
    sent_mb = payload_bytes // job.record_bytes * job.record_bytes * ticks / 1e6
    return {**figures, "sent_mb_per_second": sent_mb / (last_sent - first)}


def _run_ticks(connection: wire.Connection, frame: bytes, intended: list[float]) -> tuple[list[float], float]:
    """Send `frame` at each intended time; return the latency of every answer and when the last was sent."""
    link = _Pipelined(connection.socket)
    latencies: list[float] = []
    sent = 0
    give_up = intended[-1] + DRAIN_SECONDS
    last_sent = intended[0]
    while len(latencies) < len(intended):
        now = time.perf_counter()
        while sent < len(intended) and intended[sent] <= now:
            link.queue(frame)
            sent, last_sent = sent + 1, now
        link.send()
        wait_until = intended[sent] if sent < len(intended) else give_up
        if now > give_up:
            raise LoadError(f"{len(intended) - len(latencies)} of {len(intended)} requests have no answer")
        link.wait(max(0.0, wait_until - time.perf_counter()))
        answers = link.receive()
        arrived = time.perf_counter()
        latencies += [arrived - intended[len(latencies) + place] for place in range(answers)]
    return latencies, last_sent


def small_requests(job: SmallRequestsJob) -> Figures:
    """Keep a fixed number of one-record requests open on every connection and count the answers.

    Raises: BrokerError if one is refused; LoadError if a connection stalls.
    """
    _ready(job, job.record_bytes)[0].close()
    selector = selectors.DefaultSelector()
    links = [_Pipelined(wire.Connection(job.host, job.port).socket) for _ in range(job.connections)]
    partitions = job.partitions
    records = wire.batch([b"x" * job.record_bytes])
    started = time.perf_counter()
    for place, link in enumerate(links):
        link.frame = wire.produce_request(job.topic, [place % partitions], records, acks=job.acks)
        selector.register(link.socket, selectors.EVENT_READ, link)
        link.queue(link.frame * job.in_flight)
        link.send()
    deadline = started + job.seconds
    answers = 0
    while time.perf_counter() < deadline:
        ready = selector.select(DRAIN_SECONDS)
        if not ready:
            raise LoadError(f"no answer on {job.connections} connections for {DRAIN_SECONDS} s")
        for key, _events in ready:
            count = key.data.receive()
            answers += count
            key.data.queue(key.data.frame * count)
            key.data.send()
    return {"requests": answers, "seconds": time.perf_counter() - started}


class _Pipelined:
    """A non-blocking socket on which whole frames are queued and answers counted."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.socket = connected
        self.frame = b""
        self._unsent: deque[memoryview] = deque()
        self._received = bytearray()

    def queue(self, data: bytes) -> None:
        """Add bytes to what is to be sent."""
        if data:
            self._unsent.append(memoryview(data))

    def send(self) -> None:
        """Send what the socket takes."""
        while self._unsent:
            try:
                sent = self.socket.send(self._unsent[0])
            except BlockingIOError:
                return
            if sent == len(self._unsent[0]):
                self._unsent.popleft()
            else:
                self._unsent[0] = self._unsent[0][sent:]

    def wait(self, seconds: float) -> None:
        """Wait until bytes can be read (or sent, if some could not be), at most `seconds`."""
        # Not epoll: its time-outs are whole milliseconds, as long as a tick.
        select.select([self.socket], [self.socket] if self._unsent else [], [], seconds)

    def receive(self) -> int:
        """Read what came; return the number of answers that it completed.

        Raises: BrokerError if one carries an error code; WireError at the end of the stream.
        """
        try:
            piece = self.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return 0
        if not piece:
            raise wire.WireError("the broker closed the connection")
        self._received += piece
        return self._take_answers()

    def _take_answers(self) -> int:
        received, position, count = self._received, 0, 0
        while len(received) - position >= 4:
            (size,) = struct.unpack_from(">i", received, position)
            if len(received) - position < 4 + size:
                break
            _refuse_errors(received[position + 4 : position + 4 + size])
            position += 4 + size
            count += 1
        del received[:position]
        return count


def _ready(job: Job, payload_bytes: int) -> tuple[wire.Connection, bytes]:
    """Connect, and send the request a few times until the topic and both programs are warm."""
    connection = wire.Connection(job.host, job.port)
    values = [b"x" * job.record_bytes] * max(1, payload_bytes // job.record_bytes)
    frame = wire.produce_request(job.topic, [0], wire.batch(values), acks=job.acks)
    for partition in range(job.partitions):
        first = wire.produce_request(job.topic, [partition], wire.batch(values[:1]), acks=-1)
        connection.produce_until_accepted(first, within_seconds=30)
        for _ in range(WARM_UP_REQUESTS):
            _refuse_errors(connection.call(first))
    return connection, frame


def _refuse_errors(answer: bytes | bytearray) -> None:
    if code := wire.produce_error(bytes(answer)):
        raise wire.BrokerError("producing", code)


def _latency_figures(latencies: list[float]) -> Figures:
    ordered = sorted(latencies)
    return {
        "requests": len(ordered),
        "p50_ms": percentile(ordered, 0.5) * 1_000,
        "p99_ms": percentile(ordered, 0.99) * 1_000,
        "p999_ms": percentile(ordered, 0.999) * 1_000,
        "max_ms": ordered[-1] * 1_000,
    }
