"""The cost of access rules: processor time a GB with an authorizer and 10,000 rules, and without, in pairs.

Rates swing by more than the cost; so two servers run beside each other, both on one core and their client on
another, and take turns with short pieces of the same work.  What counts is the processor time that each of
them takes.  The figures are the median of the pairs' ratios, and the quarters of them around it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from benchmarks import proc
from benchmarks.rounds import Figures
from benchmarks.servers import Server, ServerKind, new_server
from compat_tests.topics import create_topic
from compat_tests.wire import raw_client
from protocol.messages.create_acls import AclCreation, CreateAclsRequest

AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
RULES: Final = 10_000
RULED: Final = {"authorizer.class.name": AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}

PAIRS: Final = 10
RECORDS: Final = 40_000
"""The records of 1 KB of one turn: about 0.1 s."""

SERVER_CORE, CLIENT_CORE = 0, 1

Work = Callable[[Mapping[str, str], str, int, int], float]
"""Writes or reads records: the settings of the client, topic, partitions, number of records."""


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


def gate(kind: ServerKind, directory: Path, quick: bool, works: Mapping[str, Work]) -> Figures:
    """Measure each work in pairs, on 1 and 100 partitions."""
    pairs, records = (2, 5_000) if quick else (PAIRS, RECORDS)
    ratios: dict[str, list[float]] = {}
    with _pair_of(kind, directory) as servers, _on_core(CLIENT_CORE):
        for partitions in (1, 100):
            topic = f"gate-{partitions}"
            for server in servers.values():
                create_topic(server, topic, partitions)
                for work in works.values():
                    work({"bootstrap.servers": server.bootstrap}, topic, partitions, records)
            for number in range(pairs):
                order = list(servers) if number % 2 else list(reversed(servers))
                for verb, work in works.items():
                    spent = {name: _spent(servers[name], work, topic, partitions, records) for name in order}
                    name = f"gate {verb}, {partitions} partitions, processor with rules by none"
                    ratios.setdefault(name, []).append(spent["ruled"] / spent["open"])
    return {
        name: figure for words, found in ratios.items() for name, figure in compared(words, found).items()
    }


def compared(name: str, ratios: list[float]) -> Figures:
    """Return the median of the pairs, and the quarters."""
    low, _, high = quantiles(ratios, n=4)
    return {name: median(ratios), f"{name}, lower quarter": low, f"{name}, upper quarter": high}


def _spent(server: Server, work: Work, topic: str, partitions: int, records: int) -> float:
    before = proc.run_seconds(server.pid)
    work({"bootstrap.servers": server.bootstrap}, topic, partitions, records)
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
