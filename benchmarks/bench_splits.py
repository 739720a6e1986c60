"""Topics whose partitions split, and ids of messages: `python -m benchmarks.bench_splits`.

Each part has a new server. One librdkafka producer in C (clients/load.c) sends records of 100 bytes with
5,000 keys, without compression, to topics that differ in their splits, by murmur2 (as Java's clients hash) or
CRC32 (librdkafka's default); it knows all partitions from its start. For ids, one consumer reads a topic
of four partitions, as it is stored, and with a header of its id in each record.

Given are records a second and the server's processor time for each, medians of the rounds, and ratios of
those that belong together. `router` is what a batch for a topic without splits pays, in this process.
"""

from __future__ import annotations

import json
import subprocess
import timeit
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks.clients.native import program
from benchmarks.proc import cpu_seconds
from benchmarks.rounds import Figures, Found, in_rounds, on_new_server, options_of
from benchmarks.servers import Server, ServerKind
from broker.catalogue.outlets import router_of
from broker.config.topic_settings import TopicSettings
from compat_tests.kawal_broker import KAWAL

RECORD_BYTES: Final = 100
KEYS: Final = 5_000
RECORDS: Final = 2_000_000
QUICK_RECORDS: Final = 300_000
TOPIC: Final = "measured"

SPLITTING: Final = (
    "kawal.partition.autosplit.mode=paused",
    "kawal.partition.write.bytes.per.sec=1000000000000",
)
IDS: Final = ("kawal.message.ids=true",)
SHOWN_IDS: Final = (*IDS, "kawal.message.id.header=true")


class Part(NamedTuple):
    """One measurement."""

    title: str
    partitions: int
    configs: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    """The words of `kawal topics split`, if partitions are split."""
    after: int = 0
    """The partitions there are then."""
    partitioner: str = "murmur2"
    reads: bool = False
    """Whether a consumer is measured, not the producer."""
    codec: str = "none"


PARTS: Final = {
    "plain-1": Part("plain, 1 partition", 1),
    "mode-1": Part("with the mode, 1 partition", 1, SPLITTING),
    "plain-4": Part("plain, 4 partitions", 4),
    "mode-4": Part("with the mode, 4 partitions, never split", 4, SPLITTING),
    "plain-8": Part("plain, 8 partitions", 8),
    "split-8": Part("4 partitions, all split", 4, SPLITTING, ("--all",), 8),
    "split-5": Part("4 partitions, one of them split", 4, SPLITTING, ("--partition", "0"), 5),
    "split-8-crc": Part("4 partitions, all split, CRC32", 4, SPLITTING, ("--all",), 8, "consistent_random"),
    "read": Part("read with ids, 4 partitions", 4, IDS, reads=True),
    "read-header": Part("read with ids in a header", 4, SHOWN_IDS, reads=True),
    "read-lz4": Part("read with ids, lz4", 4, IDS, reads=True, codec="lz4"),
    "read-header-lz4": Part("read with ids in a header, lz4", 4, SHOWN_IDS, reads=True, codec="lz4"),
}

RATIOS: Final = (
    ("mode-1", "plain-1"),
    ("mode-4", "plain-4"),
    ("split-8", "plain-8"),
    ("split-5", "plain-8"),
    ("split-8-crc", "plain-8"),
    ("read-header", "read"),
    ("read-header-lz4", "read-lz4"),
)
"""Parts, each with the one that it is compared with."""


def measure(kind: ServerKind, name: str, quick: bool) -> Figures:
    """Measure one part."""
    part = PARTS[name]
    records = QUICK_RECORDS if quick else RECORDS

    def work(server: Server) -> Figures:
        return _work(server, part, records // 2 if part.reads else records)

    return {f"{name} {figure}": value for figure, value in on_new_server(kind, work).items()}


def _work(server: Server, part: Part, records: int) -> Figures:
    configs = [word for config in part.configs for word in ("--config", config)]
    _kawal(server, "create", TOPIC, "--partitions", str(part.partitions), *configs)
    if part.split:
        _kawal(server, "split", TOPIC, *part.split)
    count = part.after or part.partitions
    used = cpu_seconds(server.pid)
    found = _load(server, "produce", _producing(part, records), _producer(server, part), count)
    if part.reads:
        used = cpu_seconds(server.pid)
        reading = {"records": records, "limit_seconds": 300, "wait_for_start": 0}
        found = _load(server, "consume", reading, _consumer(server), count)
    assert found["records"] == records, "every record was acknowledged, or read"
    return {
        "records/s": records / found["seconds"],
        "µs": (cpu_seconds(server.pid) - used) / records * 1e6,
    }


def _producing(part: Part, records: int) -> dict[str, Any]:
    return {
        "records": records, "keys": KEYS, "seconds": 0, "flush_seconds": 120, "warm_up_rounds": 0,
        "warm_up_round": 0, "wait_for_start": 0,
    }  # fmt: skip


def _producer(server: Server, part: Part) -> dict[str, str]:
    return {
        "bootstrap.servers": server.bootstrap,
        "acks": "all",
        "linger.ms": "5",
        "batch.size": "131072",
        "queue.buffering.max.kbytes": str(64 * 1024),
        "queue.buffering.max.messages": "10000000",
        "delivery.report.only.error": "true",
        "partitioner": part.partitioner,
        "compression.type": part.codec,
    }


def _consumer(server: Server) -> dict[str, str]:
    return {
        "bootstrap.servers": server.bootstrap,
        "auto.offset.reset": "error",
        "queued.min.messages": "10000000",
        "queued.max.messages.kbytes": str(256 * 1024),
        "fetch.queue.backoff.ms": "1",
    }


def _load(
    server: Server, load: str, values: Mapping[str, Any], settings: Mapping[str, str], partitions: int
) -> dict[str, float]:
    """Run a load of clients/load.c and return its figures."""
    given = {"topic": TOPIC, "partitions": partitions, "record_bytes": RECORD_BYTES, **values}
    words = [f"{name}={value}" for name, value in given.items()]
    words += [f"set.{name}={value}" for name, value in settings.items()]
    ended = subprocess.run(
        [str(program()), load, *words], capture_output=True, text=True, check=False, timeout=300
    )
    if ended.returncode:
        raise RuntimeError(f"{load}: {ended.stderr}{server.last_words()}")
    figures: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return figures


def _kawal(server: Server, *words: str) -> None:
    subprocess.run(
        [KAWAL, "topics", *words, "--bootstrap", server.bootstrap],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip


def router_ns(number: int = 200_000) -> float:
    """Return the time that a batch for a topic without splits takes to find out that it has none."""
    from tests.broker.gateway import Gateway
    from tests.broker.kit import create

    gateway = Gateway()
    create(gateway.client(), "plain")
    partition, topics = gateway.partition("plain"), gateway.broker.topics
    settings: TopicSettings = topics.settings(partition.topic)
    return min(timeit.repeat(lambda: router_of(partition, topics, settings), number=number)) / number * 1e9


def table(found: Found) -> str:
    """Return the medians of all parts, and the ratios."""
    medians = {name: median(by_server["kawal"]) for name, by_server in found.items()}
    lines = [f"{'':<42}{'records/s':>12}{'µs/record':>11}"]
    lines += [
        f"{part.title:<42}{medians[f'{name} records/s']:>12,.0f}{medians[f'{name} µs']:>11.2f}"
        for name, part in PARTS.items()
        if f"{name} µs" in medians
    ]
    lines.append(f"\n{'':<42}{'records/s':>12}{'lowest':>11}{'highest':>11}")
    for name, other in RATIOS:
        pairs = [found.get(f"{each} records/s", {}).get("kawal", []) for each in (name, other)]
        if all(pairs):
            ratios = [mine / base for mine, base in zip(*pairs, strict=True)]
            title = f"{name} / {other}"
            lines.append(f"{title:<42}{median(ratios):>12.2f}{min(ratios):>11.2f}{max(ratios):>11.2f}")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    options = options_of("benchmarks.bench_splits", __doc__, words, parts=PARTS, servers=["kawal"])
    print(f"router: {router_ns():.0f} ns for a batch of a topic without splits\n")
    print(table(in_rounds(options, measure)))


if __name__ == "__main__":
    main()
