"""Transactions beside Apache Kafka: `python -m benchmarks.bench_transactions [--quick] [--only rate]`.

    rate      transactions a second: 1 and 16 producers, 1 and 10 partitions in each transaction
    overhead  records of 1 KB: the rate in transactions of 10,000 by that of idempotent producing without them
    read      committed records of 1 KB, of which every tenth transaction was aborted
    ids       100,000 transactional ids: resident memory, and seconds from a start until they are served

The servers take turns in rounds; figures are medians, ratios are taken of them. Kafka does not sync before it
answers, Kawal does; `kafka-fsync` syncs, too. Exit code 1: a bar is not met.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from benchmarks import proc
from benchmarks.rounds import Figures, in_rounds, on_new_server, options_of
from benchmarks.servers import Server, ServerKind
from benchmarks.transactions_clients import init_ids, read_committed, transactions_per_second, write
from compat_tests.topics import create_topic

PARTITIONS: Final = 160
PER_TRANSACTION: Final = 10_000
ABORTED: Final = 10

BARS: Final = {
    "rate 1 producer, 1 partition": 1.5,
    "rate 1 producer, 10 partitions": 1.5,
    "rate 16 producers, 1 partition": 1.5,
    "rate 16 producers, 10 partitions": 1.5,
    "read committed, 10 % aborted": 1.0,
}
"""The least ratio of Kawal's figure to Kafka's."""


def rates(server: Server, quick: bool) -> Figures:
    """Measure transactions a second."""
    found: Figures = {}
    for producers in (1, 16):
        for partitions in (1, 10):
            topic = create_topic(server, f"rate-{producers}-{partitions}", PARTITIONS)
            name = f"{_count(producers, 'producer')}, {_count(partitions, 'partition')}"
            rate = transactions_per_second(
                server,
                topic,
                producers=producers,
                partitions=partitions,
                count=PARTITIONS,
                seconds=2 if quick else 5,
            )
            found[f"rate {name}"] = rate.per_second
            found[f"server's ms of processor, {name}"] = rate.cpu_ms
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def throughput(server: Server, quick: bool) -> Figures:
    """Measure writing with and without transactions, and reading what was committed."""
    records = 20_000 if quick else 100_000
    plain, transactional, mixed = (create_topic(server, f"bulk-{name}", 6) for name in "abc")
    for topic in (plain, transactional):
        write(server, topic, 2_000, name=None, per=1)
    alone = write(server, plain, records, name=None, per=1)
    inside = write(server, transactional, records, name="bulk", per=PER_TRANSACTION)
    write(server, mixed, records, name="mixed", per=500, aborts=ABORTED)
    committed = records - records // ABORTED
    return {
        "idempotent, MB/s": alone,
        "transactional, MB/s": inside,
        "transactional by idempotent": inside / alone,
        "read committed, 10 % aborted": read_committed(server, mixed, 6, committed),
    }


def many_ids(server: Server, quick: bool) -> Figures:
    """Measure the memory of many transactional ids, and the time until a killed server serves them."""
    count = 2_000 if quick else 100_000
    init_ids(server, 100)
    before = proc.memory(server.pid).resident_bytes
    init_ids(server, count)
    after = proc.memory(server.pid).resident_bytes
    server.kill()
    began = time.perf_counter()
    server.restart()
    init_ids(server, 50)
    return {
        f"{count} ids, MB": (after - before) / 1e6,
        f"{count} ids, start until they are served, s": time.perf_counter() - began,
    }


PARTS: Final[dict[str, Callable[[Server, bool], Figures]]] = {
    "rate": rates,
    "bulk": throughput,
    "ids": many_ids,
}


def measure(kind: ServerKind, part: str, quick: bool) -> Figures:
    """Measure one part on a server of its own."""
    return on_new_server(kind, lambda server: PARTS[part](server, quick))


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the arguments say; return 1 if a bar is not met."""
    options = options_of(
        "benchmarks.bench_transactions",
        __doc__,
        words,
        parts=PARTS,
        servers=["kafka", "kafka-fsync", "kawal"],
    )
    found = in_rounds(options, measure)
    return 0 if report(found, options.servers) else 1


def report(found: dict[str, dict[str, list[float]]], servers: Sequence[str]) -> bool:
    """Print medians, and ratios to Kafka with their bars; return whether all are met."""
    all_met = True
    print(f"{'':48}" + "".join(f"{kind:>14}" for kind in servers))
    for name, by_server in found.items():
        figures = {kind: median(values) for kind, values in by_server.items()}
        line = f"{name:48}" + "".join(f"{figures[kind]:14.2f}" for kind in servers)
        if {"kafka", "kawal"} <= figures.keys():
            ratio = figures["kawal"] / figures["kafka"]
            line += f"   {ratio:6.2f}x"
            if name in BARS:
                met = ratio >= BARS[name]
                all_met &= met
                line += f" (at least {BARS[name]}: {'met' if met else 'NOT MET'})"
        print(line, flush=True)
    return all_met


if __name__ == "__main__":
    sys.exit(main())
