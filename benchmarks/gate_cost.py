"""The cost of access rules: processor time with an authorizer and 10,000 rules, and without, in pairs.

Rates, and what a client library asks for, swing by more than the cost.  So two servers run beside each other
on one core, and take turns with short pieces of the same work: the very same requests, as many and as large
for both, from a client on another core.  What counts is the processor time that each of them takes.  The
figure is the median of the pairs' ratios, with the interval in which the median of all such pairs lies, 95
of 100 times.

    produce, 1 partition       64 records a request, five requests on the way
    produce, 100 partitions    10 records for one partition a request, as librdkafka sends them
    consume, 1 partition       about 1 MB a request
    consume, 100 partitions    all of them named in each request, 10 KB of each
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import proc
from benchmarks.rounds import Figures
from benchmarks.servers import Server, ServerKind, new_server
from compat_tests.batches import Batch
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.headers import encode_request_header
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.schema import declaration
from protocol.wire import encode

AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
RULES: Final = 10_000
RULED: Final = {"authorizer.class.name": AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}

VALUE: Final = bytes(range(256)) * 4

PAIRS: Final = 40
TURN_REQUESTS: Final = 50
"""The requests of one turn: about 30 ms."""

ON_THE_WAY: Final = 5
"""The Produce requests that are sent before the first is answered, as Java's producer does."""

SERVER_CORE, CLIENT_CORE = 0, 1

DEVIATES_95: Final = 1.96

PRODUCE_VERSION: Final = 10
FETCH_VERSION: Final = 12

Turn = Callable[[RawClient, int], None]
"""Has a server answer so many requests."""


def add_rules(server: Server) -> None:
    """Add rules that name other users, nine of ten other topics and the others prefixes."""
    with raw_client(server) as raw:
        for start in range(0, RULES, 500):
            rules = [
                AclCreation(
                    resource_type=2,
                    resource_name=f"other-{number}",
                    resource_pattern_type=3 if number % 10 else 4,
                    principal=f"User:u{number % 100}",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
                for number in range(start, start + 500)
            ]
            answer = raw.call(CreateAclsRequest(creations=rules), 3)
            assert not any(result.error_code for result in answer.results), answer.results[0]


def producing(topic: str, partitions: int) -> Turn:
    """Return a turn that writes to each partition in turn."""
    batch = Batch(values=[VALUE] * (64 if partitions == 1 else 10)).encode()
    frames = [
        _frame(
            ProduceRequest(
                acks=-1,
                timeout_ms=30_000,
                topic_data=[
                    TopicProduceData(
                        name=topic, partition_data=[PartitionProduceData(index=index, records=batch)]
                    )
                ],
            ),
            PRODUCE_VERSION,
        )
        for index in range(partitions)
    ]

    def turn(client: RawClient, requests: int) -> None:
        for start in range(0, requests, ON_THE_WAY):
            numbers = range(start, min(start + ON_THE_WAY, requests))
            client.socket.sendall(b"".join(frames[number % partitions] for number in numbers))
            for _ in numbers:
                _take_answer(client, at_least_bytes=0)

    return turn


def consuming(topic: str, partitions: int) -> Turn:
    """Return a turn that reads the first MB of the topic again and again."""
    each_bytes = 1_000_000 if partitions == 1 else 10_500
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=each_bytes)
        for index in range(partitions)
    ]
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=50_000_000,
        topics=[FetchTopic(topic=topic, partitions=wanted)],
    )
    frame = _frame(request, FETCH_VERSION)

    def turn(client: RawClient, requests: int) -> None:
        for _ in range(requests):
            client.socket.sendall(frame)
            _take_answer(client, at_least_bytes=900_000)

    return turn


def _frame(request: object, version: int) -> bytes:
    api = declaration(type(request)).api
    assert api is not None
    header = encode_request_header(api_key=api, api_version=version, correlation_id=1, client_id="gate")
    body = header + b"".join(bytes(part) for part in encode(request, version))  # type: ignore[arg-type]  # no file ranges
    return struct.pack(">i", len(body)) + body


def _take_answer(client: RawClient, *, at_least_bytes: int) -> None:
    length = len(client.receive_frame())
    assert length >= at_least_bytes, f"an answer of {length} bytes"


def gate(kind: ServerKind, directory: Path, quick: bool) -> Figures:
    """Measure writing and reading in pairs, on 1 and 100 partitions."""
    pairs = 3 if quick else PAIRS
    found: Figures = {}
    with _pair_of(kind, directory) as servers, _on_core(CLIENT_CORE):
        for partitions in (1, 100):
            topic = f"gate-{partitions}"
            for server in servers.values():
                create_topic(server, topic, partitions)
            # What is written first is there to be read.
            for verb, turn in (
                ("produce", producing(topic, partitions)),
                ("consume", consuming(topic, partitions)),
            ):
                name = f"gate {verb}, {partitions} partitions, processor with rules by none"
                found |= compared(name, list(_ratios(servers, turn, pairs)))
    return found


def _ratios(servers: dict[str, Server], turn: Turn, pairs: int) -> Iterator[float]:
    """Yield, for each pair of turns, the processor time with rules by that without."""
    with raw_client(servers["open"]) as opened, raw_client(servers["ruled"]) as ruled:
        clients = {"open": opened, "ruled": ruled}
        for client in clients.values():
            turn(client, 10 * TURN_REQUESTS)
        for number in range(pairs):
            order = list(clients) if number % 2 else list(reversed(clients))
            spent = {name: _spent(servers[name], clients[name], turn) for name in order}
            yield spent["ruled"] / spent["open"]


def _spent(server: Server, client: RawClient, turn: Turn) -> float:
    before = proc.run_seconds(server.pid)
    turn(client, TURN_REQUESTS)
    return proc.run_seconds(server.pid) - before


def compared(name: str, ratios: Sequence[float]) -> Figures:
    """Return the median of the pairs, and the interval of 95 % of it.

    The interval ends at the pairs whose ranks are 0.98 roots of the number of pairs from the middle: no form
    of the distribution is supposed.  Source: Hollander and Wolfe, Nonparametric Statistical Methods, 3.6.
    """
    ordered = sorted(ratios)
    beside = DEVIATES_95 * len(ordered) ** 0.5 / 2
    low = max(0, int(len(ordered) / 2 - beside) - 1)
    high = len(ordered) - 1 - low
    return {name: median(ordered), f"{name}, from": ordered[low], f"{name}, to": ordered[high]}


@contextmanager
def _pair_of(kind: ServerKind, directory: Path) -> Iterator[dict[str, Server]]:
    """Start a server without rules and one with them, on one core."""
    servers = {
        name: new_server(kind, directory / f"{kind}-{name}", settings)
        for name, settings in {"open": {}, "ruled": RULED}.items()
    }
    try:
        for server in servers.values():
            server.start()
            _pin(server.pid, SERVER_CORE)
        add_rules(servers["ruled"])
        yield servers
    finally:
        for server in servers.values():
            server.kill()


def _pin(pid: int, core: int) -> None:
    """Have all threads of a process run on one core, those to come too."""
    if core < proc.CORES:
        for thread in (proc.PROC / str(pid) / "task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})


@contextmanager
def _on_core(core: int) -> Iterator[None]:
    """Have this thread, and those that it starts, run on one core."""
    before = os.sched_getaffinity(0)
    if core < proc.CORES:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
