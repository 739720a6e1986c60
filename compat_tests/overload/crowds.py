"""Loads of many connections: silent ones, half-sent requests, readers that do not read, short visits."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Iterator

from compat_tests.batches import Batch
from compat_tests.broker import API_VERSIONS_REQUEST, HOST
from compat_tests.overload.frames import fuzzed, fuzzing_topic
from compat_tests.overload.load import Target, create_topics, frame, going, load, produce_many, stay
from compat_tests.requests import fetch_request, produce_request

MIB = 1 << 20

IDLE_COUNT = 10_000
READER_COUNT = 300
CHURN_PER_SECOND = 2_000
FUZZ_CONNECTIONS = 20
FUZZ_FRAMES_PER_SECOND = 1_000

LARGE_BATCHES = 60
"""Batches of 1 MiB in the topic that slow readers ask for: more than the 55 MiB of one answer."""


@load("idle")
def idle(target: Target) -> str:
    """10,000 connections ask for the versions once and say nothing more."""
    began = time.monotonic()
    crowd = list(connections(target, target.dose(IDLE_COUNT), API_VERSIONS_REQUEST))
    for client in crowd:
        client.setblocking(True)
        client.settimeout(60)
        assert client.recv(4), "an idle connection was not answered"
    took = time.monotonic() - began
    stay(target.seconds)
    return f"{len(crowd)} connections answered in {took:.1f} s"


@load("half-open")
def half_open(target: Target) -> str:
    """10,000 connections send one byte."""
    crowd = list(connections(target, target.dose(IDLE_COUNT), b"\0"))
    stay(target.seconds)
    return f"{len(crowd)} connections with one byte"


def _large_batches(target: Target) -> None:
    create_topics(target, ["large"], 1, {"max.message.bytes": str(2 * MIB)})
    batch = Batch(values=[b"x" * MIB])
    wanted = [produce_request("large", batch)] * LARGE_BATCHES
    assert produce_many(target, wanted, window=5) == LARGE_BATCHES


@load("slow-readers", prepare=_large_batches)
def slow_readers(target: Target) -> str:
    """300 connections ask for 55 MiB each, over and over, and read nothing."""
    request = frame(fetch_request("large", 0, partition_max_bytes=55 * MIB, max_bytes=55 * MIB), 11)
    crowd = []
    for client in connections(target, target.dose(READER_COUNT), request * 3):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        crowd.append(client)
    stay(target.seconds)
    return f"{len(crowd)} readers"


@load("large-requests")
def large_requests(target: Target) -> str:
    """200 connections announce a request of 90 MiB, send 2 MiB of it and stop."""
    part = struct.pack(">i", 90 * MIB) + b"\0" * 2 * MIB
    crowd = []
    for client in connections(target, target.dose(200), b""):
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            for start in range(0, len(part), 1 << 16):
                client.send(part[start : start + (1 << 16)])
        crowd.append(client)
    stay(target.seconds)
    return f"{len(crowd)} requests begun"


@load("churn")
def churn(target: Target) -> str:
    """2,000 connections a second open, perhaps ask something, and close, half of them with a reset."""
    going()
    chance = target.chance
    count, began = 0, time.monotonic()
    while time.monotonic() < began + target.seconds:
        if count > (time.monotonic() - began) * CHURN_PER_SECOND * target.factor:
            time.sleep(0.001)
            continue
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection((HOST, target.port), timeout=5) as client,
        ):
            if chance.random() < 0.5:
                client.sendall(API_VERSIONS_REQUEST)
            if chance.random() < 0.5:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        count += 1
    return f"{count} connections, {count / target.seconds:.0f} a second"


@load("fuzz", prepare=lambda target: fuzzing_topic(target.port, Batch(values=[b"v"])))
def fuzz(target: Target) -> str:
    """1,000 frames a second on 20 connections: valid, mutated, garbage, halves, with many goodbyes."""
    going()
    chance = target.chance
    clients: list[socket.socket] = []
    frames = opened = 0
    began = time.monotonic()
    while time.monotonic() < began + target.seconds:
        if frames > (time.monotonic() - began) * FUZZ_FRAMES_PER_SECOND * target.factor:
            time.sleep(0.001)
            continue
        while len(clients) < FUZZ_CONNECTIONS:
            clients.append(socket.create_connection((HOST, target.port), timeout=5))
            clients[-1].setblocking(False)
            opened += 1
        client = chance.choice(clients)
        frames += 1
        if not _send_and_read(client, fuzzed(chance)) or chance.random() < 0.02:
            clients.remove(client)
            client.close()
    return f"{frames} frames on {opened} connections"


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


def connections(target: Target, count: int, first: bytes) -> Iterator[socket.socket]:
    """Yield `count` connections, made a few hundred at a time, each with `first` sent."""
    waiting: dict[int, socket.socket] = {}
    poll = select.poll()
    made = 0
    while made < count or waiting:
        while made < count and len(waiting) < 200:
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex((HOST, target.port))
            waiting[client.fileno()] = client
            poll.register(client, select.POLLOUT)
            made += 1
        for descriptor, _ in poll.poll(10_000):
            client = waiting.pop(descriptor)
            poll.unregister(client)
            if first:
                client.send(first)
            yield client
