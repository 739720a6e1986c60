"""Share groups beside Apache Kafka: `python -m benchmarks.bench_queues [--quick] [--only rate-1k]`.

    rate-100, rate-1k   records that were there before 1, 8 or 64 members take them; each is acknowledged
    p99-1k              records of 1 KB at 1,000 a second: from sending to having them; 1, 8 and 64 members
    memory              100,000 records that one member has: at once, and with every second one accepted
    idle                1,000 groups of one member that waits for records: memory and processor time

Four partitions. The members are Kafka's own KafkaShareConsumer, in one process (clients/ShareLoad.java), for
both servers; those of `memory` and `idle` are raw sockets. The servers take turns in rounds; figures are
medians, ratios are taken of them. Kafka does not sync before it answers, Kawal does. Exit code 1: a bar is
not met.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Final

from benchmarks import proc
from benchmarks.queues_clients import Member, drain, idle, join, paced, topic_id_of
from benchmarks.rounds import Figures, in_rounds, on_new_server, options_of
from benchmarks.servers import Server, ServerKind
from compat_tests.confluent import make_producer, produce
from compat_tests.test_share_groups import configure
from compat_tests.topics import create_topic

PARTITIONS: Final = 4
MEMBERS: Final = (1, 8, 64)
RATE: Final = 1_000
HELD: Final = 100_000
LOCKS: Final = 2_000
"""Records of a partition that may be under way: HELD of them need so many partitions the more."""
IDLE_GROUPS: Final = 1_000
SETTINGS: Final = {"group.share.max.share.sessions": "2000"}

LEAST: Final = {f"records/s, {size}, {count} members": 1.0 for size in ("100 B", "1 KB") for count in MEMBERS}
"""The least ratio of Kawal's figure to Kafka's."""

MOST: Final = {
    f"{name}, {size}, {count} members": 1.0
    for name, sizes in (("server's ms for 1,000 records", ("100 B", "1 KB")), ("p99 ms", ("1 KB",)))
    for size in sizes
    for count in MEMBERS
}
"""The largest ratio."""


def rates(size: str, record_bytes: int, count: int, server: Server, quick: bool) -> Figures:
    """Measure how fast members take what is there."""
    found: Figures = {}
    count = count // 10 if quick else count
    for members in MEMBERS:
        topic = create_topic(server, f"rate-{members}", PARTITIONS)
        drained = drain(
            server, topic, members=members, record_bytes=record_bytes, warm=count // 2, count=count
        )
        name = f"{size}, {members} members"
        found[f"records/s, {name}"] = drained.per_second
        found[f"server's ms for 1,000 records, {name}"] = drained.cpu_ms
        found[f"acknowledgements by records, {name}"] = drained.acknowledged / (count // 2 + count)
    return found


def latencies(server: Server, quick: bool) -> Figures:
    """Measure the time from sending a record to having it."""
    found: Figures = {}
    for members in MEMBERS:
        topic = create_topic(server, f"paced-{members}", PARTITIONS)
        warm, seconds = (2, 3) if quick else (8, 15)
        times = paced(
            server, topic, members=members, record_bytes=1_000, rate=RATE, warm=warm, seconds=seconds
        )
        name = f"1 KB, {members} members"
        found[f"median ms, {name}"] = times.median_ms
        found[f"p99 ms, {name}"] = times.p99_ms
        found[f"server's ms for 1,000 records at {RATE}/s, {name}"] = times.cpu_ms
    return found


def in_flight(server: Server, quick: bool) -> Figures:
    """Measure the memory of records that a member has."""
    count = 4_000 if quick else HELD
    partitions = count // LOCKS
    topic = create_topic(server, "held", partitions)
    configure(server, topic, share_auto_offset_reset="earliest", share_record_lock_duration_ms="60000")
    producer = make_producer(server)
    for index in range(partitions):
        produce(producer, topic, [bytes(100)] * LOCKS, partition=index)
    member = Member(server, topic, topic, topic_id_of(server, topic), partitions)
    join([member])
    before = proc.memory(server.pid).resident_bytes
    acquired = member.acquire(count)
    whole = proc.memory(server.pid).resident_bytes
    member.accept_every_second(acquired)
    sparse = proc.memory(server.pid).resident_bytes
    member.client.close()
    return {
        f"{count} records in flight, MB": (whole - before) / 1e6,
        f"{count} records in flight, every second accepted, MB": (sparse - before) / 1e6,
    }


def many_groups(server: Server, quick: bool) -> Figures:
    """Measure what groups cost whose members wait."""
    count = 50 if quick else IDLE_GROUPS
    topic = create_topic(server, "quiet", PARTITIONS)
    topic_id = topic_id_of(server, topic)
    first = Member(server, "first", topic, topic_id, PARTITIONS)
    join([first])
    before = proc.memory(server.pid).resident_bytes
    members = [Member(server, f"group-{number}", topic, topic_id, PARTITIONS) for number in range(count)]
    join(members)
    idle(members, 10)
    after = proc.memory(server.pid).resident_bytes
    seconds = 5 if quick else 30
    cpu = proc.cpu_seconds(server.pid)
    idle(members, seconds)
    cpu = proc.cpu_seconds(server.pid) - cpu
    for member in (first, *members):
        member.client.close()
    return {
        f"{count} idle groups, MB": (after - before) / 1e6,
        f"{count} idle groups, % of a processor": cpu / seconds * 100,
    }


PARTS: Final[dict[str, Callable[[Server, bool], Figures]]] = {
    "rate-100": partial(rates, "100 B", 100, 600_000),
    "rate-1k": partial(rates, "1 KB", 1_000, 200_000),
    "p99-1k": latencies,
    "memory": in_flight,
    "idle": many_groups,
}


def measure(kind: ServerKind, part: str, quick: bool) -> Figures:
    """Measure one part on a server of its own."""
    return on_new_server(kind, lambda server: PARTS[part](server, quick), SETTINGS)


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the arguments say; return 1 if a bar is not met."""
    options = options_of(
        "benchmarks.bench_queues", __doc__, words, parts=PARTS, servers=["kafka", "kafka-fsync", "kawal"]
    )
    found = in_rounds(options, measure)
    return 0 if report(found, options.servers) else 1


def report(found: dict[str, dict[str, list[float]]], servers: Sequence[str]) -> bool:
    """Print medians, and ratios to Kafka with their bars; return whether all are met."""
    all_met = True
    print(f"{'':60}" + "".join(f"{kind:>14}" for kind in servers))
    for name, by_server in found.items():
        figures = {kind: median(values) for kind, values in by_server.items()}
        line = f"{name:60}" + "".join(f"{figures[kind]:14.2f}" for kind in servers)
        if {"kafka", "kawal"} <= figures.keys():
            ratio = figures["kawal"] / figures["kafka"] if figures["kafka"] else 0.0
            met, bar = _judged(name, ratio)
            all_met &= met
            line += f"   {ratio:6.2f}x{bar}"
        print(line, flush=True)
    return all_met


def _judged(name: str, ratio: float) -> tuple[bool, str]:
    if name in LEAST:
        met, bar = ratio >= LEAST[name], f"at least {LEAST[name]}"
    elif name in MOST:
        met, bar = ratio <= MOST[name], f"at most {MOST[name]}"
    else:
        return True, ""
    return met, f" ({bar}: {'met' if met else 'NOT MET'})"


if __name__ == "__main__":
    sys.exit(main())
