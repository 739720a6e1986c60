"""The time that access rules add to a request, inside one process: without sockets, disks and other programs.

On the wire two servers that do the same differ by more than rules cost, for as long as they live: their
memory lies differently.  Here two brokers stand in one process, one with an authorizer and 10,000 rules, and
answer the same requests in turns.  What counts is the median of the differences of pairs, by the median of
the times without rules, with the interval of 95 of 100.  The brokers are made anew some times, the other one
first each time.  System calls are left out, so that the rules' share of a request on the wire is smaller.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from benchmarks.gate_requests import RULES, acl_of, consume_frames, produce_frames
from benchmarks.rounds import Figures
from broker.catalogue.catalogue_records import AclAdded
from broker.config.acl_keys import STANDARD_AUTHORIZER
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create
from wal.segment import FileRange

WORLDS: Final = 10
REQUESTS: Final = 60
"""The pairs of requests in each world."""

WARM: Final = 30

RULED: Final[dict[str, Any]] = {
    "authorizer_class_name": STANDARD_AUTHORIZER,
    "allow_everyone_if_no_acl_found": True,
    "super_users": "User:admin",
}

DEVIATES_95: Final = 1.96


def added_in_process(quick: bool) -> Figures:
    """Measure writing and reading, on 1 and 100 partitions."""
    worlds, requests = (1, 20) if quick else (WORLDS, REQUESTS)
    spent: dict[str, list[tuple[int, int]]] = {}
    for number in range(worlds):
        world = _new_world(ruled_first=bool(number % 2))
        for partitions in (1, 100):
            topic = f"t{partitions}"
            now_ms = world["open"].now_ms
            # What is written first is there to be read.
            for verb, frames in (
                ("produce", produce_frames(topic, partitions, now_ms)),
                ("consume", consume_frames(topic, partitions)),
            ):
                name = f"gate {verb}, {partitions} partitions, in process, with rules by none"
                spent.setdefault(name, []).extend(_pairs(world, frames, requests))
    return {name: figure for words, pairs in spent.items() for name, figure in added(words, pairs).items()}


def added(name: str, pairs: list[tuple[int, int]]) -> Figures:
    """Return the ratio that (open, ruled) times tell, and its interval.

    The interval ends at the differences whose ranks are 0.98 roots of their number from the middle: no form
    of the distribution is supposed.  Source: Hollander and Wolfe, Nonparametric Statistical Methods, 3.6.
    """
    base = median(opened for opened, _ in pairs)
    differences = sorted(ruled - opened for opened, ruled in pairs)
    beside = DEVIATES_95 * len(differences) ** 0.5 / 2
    low = max(0, int(len(differences) / 2 - beside) - 1)
    return {
        name: 1 + median(differences) / base,
        f"{name}, from": 1 + differences[low] / base,
        f"{name}, to": 1 + differences[-1 - low] / base,
        f"{name}, us without": base / 1e3,
    }


def _new_world(*, ruled_first: bool) -> dict[str, Gateway]:
    settings: dict[str, dict[str, Any]] = {"open": {}, "ruled": RULED}
    world = {
        name: Gateway(**settings[name]) for name in (reversed(settings) if ruled_first else iter(settings))
    }
    ruled = world["ruled"]
    for number in range(RULES):
        ruled.broker.metadata_log.append(AclAdded(**acl_of(number)._asdict()), ruled.now_ms)
        if not number % 500:
            ruled.settle()
    for gateway in world.values():
        for partitions in (1, 100):
            client = gateway.client()
            client.connection.principal = "User:admin"
            create(client, f"t{partitions}", partitions)
        gateway.settle()
    return world


def _pairs(world: dict[str, Gateway], frames: list[bytes], requests: int) -> Iterator[tuple[int, int]]:
    """Yield the nanoseconds of one request without rules, and of the same with rules."""
    clients = {name: Client(gateway, "127.0.0.1") for name, gateway in world.items()}
    for number in range(max(WARM, len(frames))):
        for client in clients.values():
            _spent_ns(client, frames[number % len(frames)])
    gc.collect()
    gc.disable()
    try:
        for number in range(requests):
            order = list(clients) if number % 2 else list(reversed(clients))
            spent = {name: _spent_ns(clients[name], frames[number % len(frames)]) for name in order}
            yield spent["open"], spent["ruled"]
    finally:
        gc.enable()


def _spent_ns(client: Client, frame: bytes) -> int:
    """Have a request answered, leave the answer unread, and return the time of the processor."""
    began = time.thread_time_ns()
    client.send_bytes(frame)
    client.gateway.settle()
    sent_bytes = 0
    connection = client.connection
    while connection.outgoing:
        while connection.outgoing:
            part = connection.outgoing[0]
            size_bytes = part.size_bytes if isinstance(part, FileRange) else len(part)
            sent_bytes += size_bytes
            connection.sent(size_bytes)
        client.gateway.settle()
    connection.dirty = False
    if connection in connection.unsent:
        connection.unsent.remove(connection)
    took = time.thread_time_ns() - began
    assert sent_bytes, "no answer"
    return took
