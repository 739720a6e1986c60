"""A load: something hostile, or only much, that a process of its own does to a gateway for some seconds."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from compat_tests.overload.frames import request_frame
from compat_tests.wire import RawClient
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

PATIENCE_SECONDS: Final = 300.0

TOPICS_PER_REQUEST: Final = 5_000


@dataclass(frozen=True)
class Target:
    """The gateway, and how much of a load it gets."""

    port: int
    http_port: int
    seconds: float
    factor: float
    chance: Random
    ports: Mapping[str, int] = field(default_factory=dict)
    """Of listeners with security, if the load asks for them."""

    def dose(self, full: int) -> int:
        """Return the part of a full number that `--factor` asks for."""
        return max(1, round(full * self.factor))

    def client(self) -> RawClient:
        """Connect."""
        client = RawClient(self)
        client.socket.settimeout(PATIENCE_SECONDS)
        return client


@dataclass(frozen=True)
class Load:
    """A load by its name."""

    name: str
    run: Callable[[Target], str]
    """Does it, calling `going` when it has begun, and returns a line of figures."""
    text: str
    prepare: Callable[[Target], None] | None = None
    """Makes what the load needs, before anything is measured."""
    settings: Mapping[str, str] = field(default_factory=dict)
    restarts: bool = False
    """Whether the server is killed and started again: what is left behind must not keep it down."""
    secure: bool = False
    """Whether the server has listeners SASL, TLS and SECURE, too."""


LOADS: dict[str, Load] = {}
"""Every load by its name, in the order of their files; `loads.py` imports them all."""


def load(
    name: str,
    *,
    prepare: Callable[[Target], None] | None = None,
    settings: Mapping[str, str] | None = None,
    restarts: bool = False,
    secure: bool = False,
) -> Callable[[Callable[[Target], str]], Callable[[Target], str]]:
    """Register a function as a load; its docstring says what it does."""

    def decorate(run: Callable[[Target], str]) -> Callable[[Target], str]:
        assert name not in LOADS, f"two loads are called {name}"
        text = (run.__doc__ or "").strip().splitlines()[0]
        LOADS[name] = Load(name, run, text, prepare, settings or {}, restarts, secure)
        return run

    return decorate


def going() -> None:
    """Tell the process that measures that the load is there."""
    print("going", flush=True)


def stay(seconds: float) -> None:
    """Keep up a load that consists of being there."""
    going()
    time.sleep(seconds)


def rounds(target: Target) -> Iterator[int]:
    """Yield numbers until the time is over, at least one."""
    going()
    ends = time.monotonic() + target.seconds
    number = 0
    while not number or time.monotonic() < ends:
        yield number
        number += 1


def repeated(
    target: Target, frames: Iterable[bytes], *, pipelined: int = 1, clients: int = 1, pause: float = 0.0
) -> str:
    """Send requests in turn, `pipelined` at once on each of some connections, and read all answers.

    Closed connections are opened again, and counted.
    """
    made = list(frames)
    crowd: list[RawClient | None] = [None] * clients
    sent = closed = 0
    slowest = 0.0
    for number in rounds(target):
        began = time.monotonic()
        burst = b"".join(made[(number + at) % len(made)] for at in range(pipelined))
        for at in range(clients):
            sender = crowd[at] or target.client()
            crowd[at] = sender
            try:
                sender.socket.sendall(burst)
            except OSError:
                closed += 1
                crowd[at] = None
        for at, client in enumerate(crowd):
            if client is None:
                continue
            try:
                for _ in range(pipelined):
                    skip_answer(client)
                    sent += 1
            except (AssertionError, OSError):
                closed += 1
                crowd[at] = None
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(pause)
    lost = f", {closed} connections closed" if closed else ""
    return f"{sent} requests, slowest round {slowest:.2f} s{lost}"


def skip_answer(client: RawClient) -> int:
    """Read an answer and throw it away; return its size in bytes."""
    (left,) = size = struct.unpack(">i", _exactly(client, 4))
    while left:
        part = client.socket.recv(min(left, 1 << 20))
        assert part, "the gateway closed the connection in an answer"
        left -= len(part)
    return int(size[0])


def _exactly(client: RawClient, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = client.socket.recv(count - len(data))
        assert part, "the gateway closed the connection"
        data += part
    return data


def create_topics(
    target: Target, names: Iterable[str], partitions: int = 1, configs: Mapping[str, str] | None = None
) -> None:
    """Create topics, some thousands at a time."""
    wanted = list(names)
    settings = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    client = target.client()
    for start in range(0, len(wanted), TOPICS_PER_REQUEST):
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=1,
                assignments=[],
                configs=settings,
            )
            for name in wanted[start : start + TOPICS_PER_REQUEST]
        ]
        answer = client.call(CreateTopicsRequest(topics=topics, timeout_ms=300_000), 7)
        refused = {topic.error_code for topic in answer.topics} - {0, 36}
        assert not refused, f"topics could not be made: {refused}"
    client.close()


def produce_many(target: Target, requests: Iterable[Any], version: int = 9, *, window: int = 100) -> int:
    """Send produce requests, some at once; return how many were acknowledged without an error."""
    client = target.client()
    acknowledged = waiting = 0

    def take() -> None:
        nonlocal acknowledged
        answer = client.receive()
        parts = [part for topic in answer.responses for part in topic.partition_responses]
        acknowledged += all(part.error_code == 0 for part in parts)

    for request in requests:
        client.send(request, version)
        waiting += 1
        if waiting == window:
            take()
            waiting -= 1
    for _ in range(waiting):
        take()
    client.close()
    return acknowledged


def frame(request: Any, version: int) -> bytes:
    """Return a request as it goes on the wire."""
    return request_frame(request, version)
