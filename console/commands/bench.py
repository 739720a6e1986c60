"""`kawal bench`: the speed of a broker here and now, and whether it returns what it acknowledged."""

from __future__ import annotations

import argparse
import json
import math
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from console.bench_load import (
    Tally,
    consume_all,
    make_batch,
    own_topic,
    produce_in_bulk,
    produce_one_by_one,
)
from console.client import add_bootstrap
from console.errors import FAILED, OK, UsageError
from console.help import describe, int32, int64
from console.tables import table

PERCENTILES = (50, 95, 99)

ACK_SLOW_MS = 50.0
"""Producers that wait for acks=all feel a median above this."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Measure any Kafka broker for a few seconds: the time of an acknowledgement (acks=all, one record
        at a time), and the megabytes and records a second produced in bulk and read back.  Every batch read
        is checked, and everything acknowledged must be there.  The topic is the command's own and is deleted
        afterwards.

        The figures are those of the broker and the network, without a client library's work.  They test an
        installation; to compare two brokers, use 'make bench' of the sources.""",
        [
            ("bench", "eight seconds on 127.0.0.1:9092"),
            (
                "bench --bootstrap 10.0.0.5:9092 --seconds 30 --partitions 16",
                "another broker, longer and wider",
            ),
            ("bench --record-bytes 100 --json", "small records, for a program"),
        ],
    )
    add_bootstrap(parser)
    parser.add_argument("--seconds", metavar="S", type=float, default=5.0, help="time to produce in bulk (5)")
    parser.add_argument(
        "--partitions", metavar="N", type=int32, default=4, help="partitions of the topic (4)"
    )
    parser.add_argument(
        "--record-bytes", metavar="N", type=int32, default=1000, help="size of a value (1000)"
    )
    parser.add_argument(
        "--batch-bytes", metavar="N", type=int32, default=128 << 10, help="size of a batch in bulk (131072)"
    )
    parser.add_argument(
        "--max-megabytes", metavar="N", type=int64, default=1_000, help="produce no more than this (1000)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Measure the broker.  Raises: UsageError; CommandError when it refuses or loses something."""
    for name in ("seconds", "partitions", "record_bytes", "batch_bytes", "max_megabytes"):
        if not 0 < getattr(arguments, name) < math.inf:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, and finite")
    tree = measure(arguments)
    print(json.dumps(tree, indent=2) if arguments.json else as_text(tree))
    return OK if tree["lost_records"] == 0 else FAILED


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the three phases and return the results."""
    topic = f"kawal-bench-{secrets.token_hex(4)}"
    single = make_batch(1, arguments.record_bytes)
    bulk = make_batch(max(1, arguments.batch_bytes // arguments.record_bytes), arguments.record_bytes)
    produced, consumed = Tally(), Tally()
    with own_topic(arguments.bootstrap, topic, arguments.partitions) as leaders:
        with progress("acknowledgements", None):
            taken = produce_one_by_one(topic, leaders[0], single, seconds=min(3.0, arguments.seconds))
        with progress("produce", produced):
            bytes_max = arguments.max_megabytes * 1_000_000
            produce_in_bulk(topic, leaders, bulk, produced, seconds=arguments.seconds, bytes_max=bytes_max)
        with progress("consume", consumed):
            consume_all(topic, leaders, consumed)
    return {
        "bootstrap": arguments.bootstrap,
        "partitions": arguments.partitions,
        "record_bytes": arguments.record_bytes,
        "ack_ms": {f"p{percent}": _percentile_ms(taken, percent) for percent in PERCENTILES}
        | {"max": taken[-1] * 1000},
        "ack_count": len(taken),
        "produce": _rates(produced),
        "consume": _rates(consumed),
        "lost_records": len(taken) + produced.records - consumed.records,
    }


def _percentile_ms(taken: list[float], percent: int) -> float:
    return taken[min(len(taken) - 1, len(taken) * percent // 100)] * 1000


def _rates(tally: Tally) -> dict[str, float]:
    return {
        "records": tally.records,
        "seconds": tally.seconds,
        "mb_per_second": tally.mb_per_second,
        "records_per_second": tally.records_per_second,
    }


@contextmanager
def progress(phase: str, tally: Tally | None) -> Iterator[None]:
    """Show the progress on a terminal, twice a second."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()

    def tell() -> None:
        while True:
            rate = f" {tally.mb_per_second:.0f} MB/s" if tally is not None and tally.seconds else ""
            print(f"\r{phase} …{rate}\x1b[K", end="", file=sys.stderr, flush=True)
            if ended.wait(0.5):
                return

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def as_text(tree: dict[str, Any]) -> str:
    """Return the results for people."""
    rows = [
        (phase, f"{tree[phase]['mb_per_second']:.1f}", f"{tree[phase]['records_per_second']:,.0f}")
        for phase in ("produce", "consume")
    ]
    acks = ", ".join(f"{name} {value:.2f} ms" for name, value in tree["ack_ms"].items())
    return "\n".join(
        [
            table(("PHASE", "MB/S", "RECORDS/S"), rows),
            f"acknowledgements (acks=all, one at a time, {tree['ack_count']}): {acks}",
            _verdict(tree),
        ]
    )


def _verdict(tree: dict[str, Any]) -> str:
    if tree["lost_records"]:
        acknowledged = tree["ack_count"] + tree["produce"]["records"]
        return (
            f"FAILED: of {acknowledged:,} records acknowledged, {tree['lost_records']:,} were not read back"
        )
    good = f"good: every record acknowledged was read back, {tree['consume']['records']:,} of them"
    if tree["ack_ms"]["p50"] > ACK_SLOW_MS:
        return f"{good}; but acknowledgements are slow: 'kawal doctor' measures the disk of a Kawal server"
    return good
