"""The cost of access rules on the wire: processor time with an authorizer and 10,000 rules, and without.

Two servers run beside each other on one core, and take turns with short pieces of the same work: the very
same requests, as many and as large for both, from a client on another core.  What counts is the processor
time that each of them takes; the figure is the median of the pairs' ratios.  Two servers without rules differ
by some hundredths, and by tenths in reading one partition, so gate_in_process.py is what the bar is for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import proc
from benchmarks.gate_requests import RULES, acl_of, consume_frames, produce_frames
from benchmarks.rounds import Figures
from benchmarks.servers import Server, ServerKind, new_server
from compat_tests.times import START_MS
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.messages.create_acls import AclCreation, CreateAclsRequest

AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
RULED: Final = {"authorizer.class.name": AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}

PAIRS: Final = 40
TURN_REQUESTS: Final = 50
"""The requests of one turn: about 30 ms."""

ON_THE_WAY: Final = {"produce": 5, "consume": 1}
"""The requests that are sent before the first is answered, as Java's clients do."""

ANSWER_BYTES_MIN: Final = {"produce": 50, "consume": 900_000}

SERVER_CORE, CLIENT_CORE = 0, 1


def add_rules(server: Server) -> None:
    """Add rules that name other users, nine of ten other topics and the others prefixes."""
    with raw_client(server) as raw:
        for start in range(0, RULES, 500):
            rules = [
                AclCreation(
                    resource_type=acl.resource_type,
                    resource_name=acl.name,
                    resource_pattern_type=acl.pattern_type,
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission,
                )
                for acl in map(acl_of, range(start, start + 500))
            ]
            answer = raw.call(CreateAclsRequest(creations=rules), 3)
            assert not any(result.error_code for result in answer.results), answer.results[0]


def on_the_wire(kind: ServerKind, directory: Path, quick: bool) -> Figures:
    """Measure writing and reading in pairs, on 1 and 100 partitions."""
    pairs = 3 if quick else PAIRS
    found: Figures = {}
    with _pair_of(kind, directory) as servers, _on_core(CLIENT_CORE):
        for partitions in (1, 100):
            topic = f"gate-{partitions}"
            for server in servers.values():
                create_topic(server, topic, partitions)
            # What is written first is there to be read.
            for verb, frames in (
                ("produce", produce_frames(topic, partitions, START_MS)),
                ("consume", consume_frames(topic, partitions)),
            ):
                name = f"gate {verb}, {partitions} partitions, on the wire, processor ratio"
                found[name] = median(_ratios(servers, verb, frames, pairs))
    return found


def _ratios(servers: dict[str, Server], verb: str, frames: list[bytes], pairs: int) -> Iterator[float]:
    """Yield, for each pair of turns, the processor time with rules by that without."""
    with raw_client(servers["open"]) as opened, raw_client(servers["ruled"]) as ruled:
        clients = {"open": opened, "ruled": ruled}
        for client in clients.values():
            _turn(client, verb, frames, 10 * TURN_REQUESTS)
        for number in range(pairs):
            order = list(clients) if number % 2 else list(reversed(clients))
            spent = {name: _spent(servers[name], clients[name], verb, frames) for name in order}
            yield spent["ruled"] / spent["open"]


def _turn(client: RawClient, verb: str, frames: list[bytes], requests: int) -> None:
    for start in range(0, requests, ON_THE_WAY[verb]):
        numbers = range(start, min(start + ON_THE_WAY[verb], requests))
        client.socket.sendall(b"".join(frames[number % len(frames)] for number in numbers))
        for _ in numbers:
            length = len(client.receive_frame())
            assert length >= ANSWER_BYTES_MIN[verb], f"an answer of {length} bytes"


def _spent(server: Server, client: RawClient, verb: str, frames: list[bytes]) -> float:
    before = proc.run_seconds(server.pid)
    _turn(client, verb, frames, TURN_REQUESTS)
    return proc.run_seconds(server.pid) - before


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
