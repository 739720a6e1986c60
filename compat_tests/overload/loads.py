"""The loads that peers put on a gateway: `python -m compat_tests.overload.loads NAME PORT SECONDS SEED`.

It prints `going` when the load is there, keeps it up for the time given, prints a line of figures and ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from random import Random

from compat_tests.batches import Batch
from compat_tests.broker import API_VERSIONS_REQUEST, HOST
from compat_tests.overload.frames import fuzzed, fuzzing_topic, request_frame
from compat_tests.requests import fetch_request

MIB = 1 << 20

IDLE_COUNT = 10_000
READER_COUNT = 300
CHURN_PER_SECOND = 2_000
FUZZ_CONNECTIONS = 20
FUZZ_FRAMES_PER_SECOND = 1_000

Load = Callable[[int, float, Random], str]


def idle(port: int, seconds: float, _: Random) -> str:
    """Open 10,000 connections that ask for the versions once and say nothing more."""
    began = time.monotonic()
    crowd = list(_crowd(port, IDLE_COUNT, API_VERSIONS_REQUEST))
    for client in crowd:
        client.setblocking(True)
        client.settimeout(20)
        assert client.recv(4), "an idle connection was not answered"
    took = time.monotonic() - began
    _go(seconds)
    return f"{len(crowd)} connections answered in {took:.1f} s"


def half_open(port: int, seconds: float, _: Random) -> str:
    """Open 10,000 connections that send one byte."""
    crowd = list(_crowd(port, IDLE_COUNT, b"\0"))
    _go(seconds)
    return f"{len(crowd)} connections with one byte"


def slow_readers(port: int, seconds: float, _: Random) -> str:
    """Open 300 connections that ask for 55 MiB each, over and over, and read nothing."""
    request = request_frame(fetch_request("large", 0, partition_max_bytes=55 * MIB, max_bytes=55 * MIB), 11)
    crowd = []
    for client in _crowd(port, READER_COUNT, request * 3):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        crowd.append(client)
    _go(seconds)
    return f"{len(crowd)} readers"


def large_requests(port: int, seconds: float, _: Random) -> str:
    """Open 200 connections that announce a request of 90 MiB, send 2 MiB of it and stop."""
    part = struct.pack(">i", 90 * MIB) + b"\0" * 2 * MIB
    crowd = []
    for client in _crowd(port, 200, b""):
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            for start in range(0, len(part), 1 << 16):
                client.send(part[start : start + (1 << 16)])
        crowd.append(client)
    _go(seconds)
    return f"{len(crowd)} requests begun"


def churn(port: int, seconds: float, chance: Random) -> str:
    """Open 2,000 connections a second, perhaps ask something, and close them, half of them with a reset."""
    print("going", flush=True)
    count, began = 0, time.monotonic()
    while time.monotonic() < began + seconds:
        if count > (time.monotonic() - began) * CHURN_PER_SECOND:
            time.sleep(0.001)
            continue
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection((HOST, port), timeout=5) as client,
        ):
            if chance.random() < 0.5:
                client.sendall(API_VERSIONS_REQUEST)
            if chance.random() < 0.5:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        count += 1
    return f"{count} connections, {count / seconds:.0f} a second"


def fuzz(port: int, seconds: float, chance: Random) -> str:
    """Send 1,000 frames a second on 20 connections: valid, mutated, garbage, halves, with many goodbyes."""
    print("going", flush=True)
    clients: list[socket.socket] = []
    frames = connections = 0
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        if frames > (time.monotonic() - began) * FUZZ_FRAMES_PER_SECOND:
            time.sleep(0.001)
            continue
        while len(clients) < FUZZ_CONNECTIONS:
            clients.append(socket.create_connection((HOST, port), timeout=5))
            clients[-1].setblocking(False)
            connections += 1
        client = chance.choice(clients)
        frames += 1
        if not _send_and_read(client, fuzzed(chance)) or chance.random() < 0.02:
            clients.remove(client)
            client.close()
    return f"{frames} frames on {connections} connections"


def _send_and_read(client: socket.socket, data: bytes) -> bool:
    """Send what goes, throw away what comes; return False when the connection has ended."""
    try:
        client.send(data)
        while client.recv(1 << 20):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def _crowd(port: int, count: int, first: bytes) -> Iterator[socket.socket]:
    """Yield `count` connections, made a few hundred at a time, each with `first` sent."""
    waiting: dict[int, socket.socket] = {}
    poll = select.poll()
    made = 0
    while made < count or waiting:
        while made < count and len(waiting) < 200:
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex((HOST, port))
            waiting[client.fileno()] = client
            poll.register(client, select.POLLOUT)
            made += 1
        for descriptor, _ in poll.poll(10_000):
            client = waiting.pop(descriptor)
            poll.unregister(client)
            if first:
                client.send(first)
            yield client


def _go(seconds: float) -> None:
    print("going", flush=True)
    time.sleep(seconds)


LOADS: dict[str, Load] = {
    "idle": idle,
    "half-open": half_open,
    "slow-readers": slow_readers,
    "large-requests": large_requests,
    "churn": churn,
    "fuzz": fuzz,
}


def main() -> None:
    """Do the load named on the command line."""
    name, port, seconds, seed = sys.argv[1:]
    # The gateway and the good client share the machine with this process.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(5)
    if name == "fuzz":
        fuzzing_topic(int(port), Batch(values=[b"v"]))
    print(LOADS[name](int(port), float(seconds), Random(int(seed))), flush=True)


if __name__ == "__main__":
    main()
