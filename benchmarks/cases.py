"""Everything that is measured, in suites; the cases of a suite share one server process per round.

Names are for `--only`; a `*` in a pattern stands for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from benchmarks import measure_latency, measure_life, measure_throughput
from benchmarks.bench import Bench
from benchmarks.clients.jobs import Figures
from benchmarks.servers import SERVER_KINDS, ServerKind

MANY_ROUNDS = 1_000
SIZES = {100: "100 B", 1_000: "1 KB", 10_000: "10 KB"}
ACKS = {1: "1", -1: "all"}
KAFKA_AND_KAWAL: tuple[ServerKind, ...] = ("kafka", "kawal")
WITH_FSYNC: tuple[ServerKind, ...] = ("kafka", "kafka-fsync", "kawal")
WITH_LEAN: tuple[ServerKind, ...] = ("kafka", "kafka-lean", "kawal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One measurement, repeated in every round on every of its servers."""

    name: str
    title: str
    suite: str
    servers: tuple[ServerKind, ...]
    measure: Callable[[Bench], Figures]
    quick: bool = False
    """Whether it is part of the quick run too."""
    rounds: int = MANY_ROUNDS
    """The most rounds: memory does not vary enough to be worth more time."""
    starts_server: bool = False
    """Whether the measurement starts and ends the server itself and needs an empty data directory."""


def _size(record_bytes: int) -> str:
    return SIZES[record_bytes].replace(" ", "").replace("KB", "k").lower()


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count:,} partitions"


def _produce(record_bytes: int, partitions: int, acks: int) -> Case:
    one_kb_synced = record_bytes == 1_000 and acks == -1
    return Case(
        name=f"produce-{_size(record_bytes)}-{partitions}p-{ACKS[acks]}",
        title=f"produce {SIZES[record_bytes]}, {_partitions(partitions)}, acks={ACKS[acks]}",
        suite="produce",
        servers=WITH_FSYNC if one_kb_synced else KAFKA_AND_KAWAL,
        measure=partial(
            measure_throughput.produce, record_bytes=record_bytes, partitions=partitions, acks=acks
        ),
        quick=(one_kb_synced and partitions < 1_000) or (record_bytes, partitions, acks) == (100, 1, -1),
    )


def _consume(record_bytes: int, partitions: int) -> Case:
    return Case(
        name=f"consume-{_size(record_bytes)}-{partitions}p",
        title=f"consume {SIZES[record_bytes]}, {_partitions(partitions)}",
        suite="consume",
        servers=KAFKA_AND_KAWAL,
        measure=partial(measure_throughput.consume, record_bytes=record_bytes, partitions=partitions),
        quick=(record_bytes, partitions) == (1_000, 1),
    )


def _fan_out(consumers: int) -> Case:
    return Case(
        name=f"fan-out-{consumers}",
        title=f"1 producer, {consumers} consumer{'s' * (consumers > 1)}, 1 KB",
        suite="consume",
        servers=KAFKA_AND_KAWAL,
        measure=partial(measure_throughput.fan_out, record_bytes=1_000, consumers=consumers),
    )


def _one_in_flight(acks: int) -> Case:
    return Case(
        name=f"latency-{ACKS[acks]}",
        title=f"acknowledgement of 1 KB, one in flight, acks={ACKS[acks]}",
        suite="latency",
        servers=WITH_FSYNC,
        measure=partial(measure_latency.one_in_flight, acks=acks),
        quick=acks == -1,
    )


def _fixed_rate(mb_per_second: int) -> Case:
    return Case(
        name=f"rate-{mb_per_second}",
        title=f"acknowledgement at {mb_per_second} MB/s, acks=all, from the intended time",
        suite="latency",
        servers=WITH_FSYNC,
        measure=partial(measure_latency.fixed_rate, mb_per_second=mb_per_second),
    )


def _small(connections: int, in_flight: int, acks: int) -> Case:
    return Case(
        name=f"small-{connections}x{in_flight}-{ACKS[acks]}",
        title=f"1-record requests, {connections} connections x {in_flight} in flight, acks={ACKS[acks]}",
        suite="latency",
        servers=KAFKA_AND_KAWAL,
        measure=partial(
            measure_latency.small_requests, connections=connections, in_flight=in_flight, acks=acks
        ),
    )


SMALL_RECORDS = Case(
    name="small-records-8x5",
    title="stock producers with a record in each request, 8 x 5 in flight, acks=all",
    suite="latency",
    servers=WITH_FSYNC,
    measure=partial(measure_latency.small_records, connections=8, in_flight=5),
    quick=True,
)

LIFE = (
    Case(
        name="cold-start",
        title="start with an empty data directory",
        suite="life",
        servers=WITH_LEAN,
        measure=measure_life.cold_start,
        quick=True,
        starts_server=True,
    ),
    Case(
        name="memory-idle",
        title="memory, started and idle",
        suite="life",
        servers=KAFKA_AND_KAWAL,
        measure=measure_life.idle_memory,
        quick=True,
        rounds=3,
        starts_server=True,
    ),
    Case(
        name="memory-10k",
        title="memory with 10,000 partitions, a record in each",
        suite="life",
        servers=KAFKA_AND_KAWAL,
        measure=partial(measure_life.many_partitions, partitions=10_000),
        rounds=1,
        starts_server=True,
    ),
    Case(
        name="restart-1g",
        title="restart after SIGKILL with 1 GiB",
        suite="life",
        servers=KAFKA_AND_KAWAL,
        measure=measure_life.restart,
        rounds=2,
        starts_server=True,
    ),
    Case(
        name="restart-100k",
        title="100,000 partitions: memory, and restart after SIGKILL with 1 GiB more",
        suite="life",
        servers=("kawal",),
        measure=partial(measure_life.restart, partitions=100_000),
        rounds=1,
        starts_server=True,
    ),
)

CASES: tuple[Case, ...] = (
    *(_produce(size, partitions, acks) for partitions in (1, 100) for size in SIZES for acks in ACKS),
    Case(
        name="produce-new-100p",
        title="produce 1 KB, acks=all, the first seconds of a new topic of 100 partitions",
        suite="produce",
        servers=WITH_FSYNC,
        measure=partial(
            measure_throughput.produce, record_bytes=1_000, partitions=100, acks=-1, first_touch=True
        ),
        quick=True,
    ),
    Case(
        name="produce-16k-batches",
        title="produce 1 KB, 100 partitions, acks=all, in the Java client's batches of 16 KiB",
        suite="produce",
        servers=WITH_FSYNC,
        measure=partial(
            measure_throughput.produce, record_bytes=1_000, partitions=100, acks=-1, batch_bytes=16 * 1024
        ),
    ),
    _produce(1_000, 1_000, -1),
    *(_consume(size, partitions) for partitions in (1, 100) for size in SIZES),
    Case(
        name="consume-cold",
        title="catch-up read of 1 KB from disk, 4 partitions",
        suite="consume",
        servers=KAFKA_AND_KAWAL,
        measure=partial(measure_throughput.consume_cold, record_bytes=1_000, partitions=4),
    ),
    *(_fan_out(consumers) for consumers in (1, 10)),
    *(_one_in_flight(acks) for acks in ACKS),
    *(_fixed_rate(rate) for rate in (1, 10, 50)),
    *(_small(4, 5, acks) for acks in ACKS),
    _small(50, 2, -1),
    _small(1_000, 1, -1),
    SMALL_RECORDS,
    *LIFE,
)


class UnknownCase(Exception):
    """A pattern that matches no case and no suite."""


def chosen(patterns: Sequence[str], *, quick: bool) -> list[Case]:
    """Return the cases that a run is about: those named (by case or suite), else all, or all quick ones.

    Raises: UnknownCase, which names what there is.
    """
    for pattern in patterns:
        if not any(_matches(case, pattern) for case in CASES):
            names = ", ".join(dict.fromkeys([case.suite for case in CASES] + [case.name for case in CASES]))
            raise UnknownCase(f"nothing is named {pattern!r}: there are {names}")
    if patterns:
        return [case for case in CASES if any(_matches(case, pattern) for pattern in patterns)]
    return [case for case in CASES if case.quick or not quick]


def _matches(case: Case, pattern: str) -> bool:
    return case.suite == pattern or fnmatchcase(case.name, pattern)


def servers_of(cases: Sequence[Case], allowed: Sequence[ServerKind]) -> list[ServerKind]:
    """Return the servers these cases need, in the order they are started in every round."""
    return [kind for kind in SERVER_KINDS if kind in allowed and any(kind in case.servers for case in cases)]
