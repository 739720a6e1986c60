"""The most requests that one loop in Python can answer: `python -m benchmarks.bench_floor`.

    sockets    receives, finds the ends of frames, sends an answer made beforehand; reads nothing else
    disk       the same, and a thread writes what came and syncs it before the answers leave: group commits
    kawal      `kawal serve`, which checks requests, takes them into a log, and measures what it does
    kafka      Apache Kafka, which does not sync before it answers

with `--connections` raw clients that keep `--in-flight` Produce requests of one record open each, in turns,
each server warm.  What is above `disk` no gateway does whose loop is in Python and on one core: the first two
check nothing, have no limits, and give no client its turn.
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from benchmarks.clients import wire
from benchmarks.clients.jobs import SmallRequestsJob
from benchmarks.clients.raw_loads import small_requests
from benchmarks.proc import cpu_seconds
from compat_tests.broker import HOST, Broker
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker

TOPIC: Final = "floor"
PARTITIONS: Final = 4
RECEIVE_BYTES: Final = 64 << 10
SIZE: Final = struct.Struct(">i")
ANSWER: Final = b"".join(
    (
        struct.pack(">i", 1) + wire.text(TOPIC),
        struct.pack(">i", 1) + struct.pack(">ihqqq", 0, 0, 0, -1, 0),
        struct.pack(">i", 0),
    )
)
"""An answer to Produce version 7 after its correlation id: one topic, one partition, no error."""

HEAD: Final = struct.pack(">i", 4 + len(ANSWER))


class Client:
    """A connection, the bytes that are no whole frame yet, and the ids to answer."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.rest = b""

    def receive(self) -> tuple[bytes, list[bytes]]:
        """Return whole frames, and their correlation ids; none at the end."""
        data = self.rest + self.socket.recv(RECEIVE_BYTES)
        ids, position = [], 0
        while position + 12 <= len(data):
            end = position + 4 + SIZE.unpack_from(data, position)[0]
            if end > len(data):
                break
            ids.append(data[position + 8 : position + 12])
            position = end
        self.rest = data[position:]
        return data[:position], ids

    def answer(self, ids: list[bytes]) -> None:
        """Send the answers to these requests."""
        self.socket.sendall(b"".join([HEAD + identity + ANSWER for identity in ids]))


class Committer:
    """A thread that writes and syncs what the loop has gathered, all of it at once."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.posix_fallocate(self._file, 0, 1 << 30)
        self.event = os.eventfd(0, os.EFD_NONBLOCK)
        self._wanted = threading.Semaphore(0)
        self._jobs: deque[tuple[list[bytes], list[tuple[Client, list[bytes]]]]] = deque()
        self._done: deque[list[tuple[Client, list[bytes]]]] = deque()
        self.busy = False
        threading.Thread(target=self._run, daemon=True).start()

    def commit(self, parts: list[bytes], waiting: list[tuple[Client, list[bytes]]]) -> None:
        """Begin a commit."""
        self.busy = True
        self._jobs.append((parts, waiting))
        self._wanted.release()

    def finished(self) -> list[tuple[Client, list[bytes]]]:
        """Return those whose frames are on the disk now."""
        os.eventfd_read(self.event)
        self.busy = False
        return self._done.popleft()

    def _run(self) -> None:
        position = 0
        while True:
            self._wanted.acquire()
            parts, waiting = self._jobs.popleft()
            position = (position + os.pwritev(self._file, parts, position)) % (1 << 29)
            os.fdatasync(self._file)
            self._done.append(waiting)
            os.eventfd_write(self.event, 1)


def serve(path: str) -> None:
    """Answer until killed; the first line of output is the port.  `path`: the file, or "" without a disk."""
    listener = socket.create_server((HOST, 0))
    epoll = select.epoll()
    epoll.register(listener, select.EPOLLIN)
    committer = Committer(path) if path else None
    if committer is not None:
        epoll.register(committer.event, select.EPOLLIN)
    clients: dict[int, Client] = {}
    parts: list[bytes] = []
    waiting: list[tuple[Client, list[bytes]]] = []
    print(listener.getsockname()[1], flush=True)
    while True:
        for descriptor, _ in epoll.poll():
            client = clients.get(descriptor)
            if client is not None:
                data, ids = client.receive()
                if committer is None:
                    client.answer(ids)
                elif ids:
                    parts.append(data)
                    waiting.append((client, ids))
                elif not client.rest:
                    epoll.unregister(descriptor)
                    del clients[descriptor]
            elif committer is not None and descriptor == committer.event:
                for answered, ids in committer.finished():
                    answered.answer(ids)
            else:
                sock, _ = listener.accept()
                clients[sock.fileno()] = Client(sock)
                epoll.register(sock, select.EPOLLIN)
        if committer is not None and parts and not committer.busy:
            committer.commit(parts, waiting)
            parts, waiting = [], []


@contextmanager
def floor_server(path: str) -> Iterator[tuple[int, int]]:
    """Run `serve` in a process; yield its port and process id."""
    command = [sys.executable, "-m", "benchmarks.bench_floor", "--serve", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.kill()


@contextmanager
def started(broker: Broker) -> Iterator[tuple[int, int]]:
    """Run a broker; yield its port and process id."""
    broker.start()
    try:
        connection = wire.Connection(HOST, broker.port)
        connection.create_topic(TOPIC, PARTITIONS)
        connection.close()
        yield broker.port, broker.process.pid
    finally:
        broker.kill()


def measured(port: int, pid: int, options: argparse.Namespace) -> tuple[float, float]:
    """Return requests a second, and µs of the server's processor for each."""
    job = SmallRequestsJob(
        host=HOST,
        port=port,
        topic=TOPIC,
        partitions=PARTITIONS,
        record_bytes=100,
        acks=-1,
        seconds=options.seconds,
        connections=options.connections,
        in_flight=options.in_flight,
    )
    small_requests(job)  # Java compiles meanwhile
    before = cpu_seconds(pid)
    figures = small_requests(job)
    cpu = cpu_seconds(pid) - before
    return figures["requests"] / figures["seconds"], cpu / figures["requests"] * 1e6


def main() -> int:
    """Measure the four in turns, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--in-flight", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, default=Path(".cache/benchmarks"), help="on the disk")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
    options.directory.mkdir(parents=True, exist_ok=True)
    rates: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        folder = Path(name)
        servers: dict[str, Callable[[int], AbstractContextManager[tuple[int, int]]]] = {
            "sockets": lambda _round: floor_server(""),
            "disk": lambda number: floor_server(str(folder / f"floor-{number}")),
            "kawal": lambda number: started(KawalBroker(folder / f"kawal-{number}", {})),
            "kafka": lambda number: started(KafkaBroker(folder / f"kafka-{number}", {})),
        }
        for number in range(options.rounds):
            for kind, start in servers.items():
                with start(number) as (port, pid):
                    rates.setdefault(kind, []).append(measured(port, pid, options))
                print(f"  {kind:<8} {rates[kind][-1][0]:>9,.0f} requests/s", flush=True)
    print(f"{options.connections} connections x {options.in_flight} in flight, median of {options.rounds}")
    for kind, found in rates.items():
        rate, cost = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"  {kind:<8} {rate:>9,.0f} requests/s {cost:>7.1f} µs of processor for each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
