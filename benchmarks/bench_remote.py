"""Durability `remote` beside `disk`: `python -m benchmarks.bench_remote`.

Each part has a new server; those of durability `remote` wait for a store in memory (slow_store.py) that
answers a PUT after 0, 10 or 100 ms, beside the time that it takes to receive it.  Three loads, acks=all, one
partition, records of 1 KB:

    one     one request after the other, a record each
    paced   one producer at 1,000 records a second, linger 5 ms; latency counts from when a record was due
    bulk    one producer as fast as records are acknowledged, batches of 128 KiB

Given are the 50th and 99th percentile of acknowledgements, MB/s, and PUTs a second of the whole load, with
its warm-up, as the server counts them; medians of the rounds, in which the parts take turns.
"""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks import scale
from benchmarks.bench import Bench
from benchmarks.clients.jobs import OneInFlightJob, PacedJob, ProduceJob
from benchmarks.proc import CORES
from benchmarks.rounds import Figures, Found, in_rounds, on_new_server, options_of
from benchmarks.servers import HOST, Server, ServerKind
from benchmarks.slow_store import BUCKET, slow_store
from compat_tests.broker import free_port
from compat_tests.waiting import eventually

RECORD_BYTES: Final = 1_000
RECORDS_A_SECOND: Final = 1_000
SECONDS: Final = 10.0
QUICK_SECONDS: Final = 2.0
BULK_SECONDS: Final = 4.0
LOADS: Final = ("one", "paced", "bulk")

KEYS: Final = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}


class Part(NamedTuple):
    """One kind of server."""

    title: str
    put_ms: int | None
    """The time of a PUT; None: durability `disk`, without a store."""


PARTS: Final = {
    "disk": Part("disk", None),
    "remote-0": Part("remote, PUT at once", 0),
    "remote-10": Part("remote, PUT 10 ms", 10),
    "remote-100": Part("remote, PUT 100 ms", 100),
}


class Puts(NamedTuple):
    """The requests of a server to its store."""

    number: float
    seconds: float


def measure(kind: ServerKind, name: str, quick: bool) -> Figures:
    """Measure one part."""
    part = PARTS[name]
    os.environ.update(KEYS)
    settings = {"kawal.http.listen": f"{HOST}:{free_port()}"}
    with ExitStack() as stack:
        if part.put_ms is not None:
            settings |= {
                "kawal.durability": "remote",
                "kawal.remote.store": f"s3://{BUCKET}/logs",
                "kawal.remote.endpoint": stack.enter_context(slow_store(part.put_ms)),
            }
        found = on_new_server(kind, lambda server: _work(server, part, quick=quick), settings)
    return {f"{name} {figure}": value for figure, value in found.items()}


def _work(server: Server, part: Part, *, quick: bool) -> Figures:
    if part.put_ms is not None:
        eventually(
            lambda: 'kawal_remote_journal_state{state="open"} 1.0' in _page(server),
            waiting_for="the first copy",
        )
    found: Figures = {}
    bench = Bench(server, scale.quick("native"))
    for load in LOADS:
        topic = bench.new_topic(1)
        puts, began = _puts(server), time.monotonic()
        with bench.cost() as cost:
            figures = _run(bench, load, topic, QUICK_SECONDS if quick else SECONDS)
        seconds = time.monotonic() - began
        sent = Puts(*(after - before for before, after in zip(puts, _puts(server), strict=True)))
        found |= {f"{load} {figure}": value for figure, value in figures.items()}
        found[f"{load} other cores"] = cost.other_cpu_share * CORES
        if sent.number:
            found[f"{load} PUTs/s"] = sent.number / seconds
            found[f"{load} PUT ms"] = sent.seconds / sent.number * 1_000
    return found


def _run(bench: Bench, load: str, topic: str, seconds: float) -> Figures:
    """Run one load; return its figures."""
    fields: dict[str, Any] = {**bench.address, "topic": topic, "record_bytes": RECORD_BYTES}
    if load == "one":
        found = bench.run("one_in_flight", OneInFlightJob(**fields, seconds=seconds))
        return {"p50 ms": found["p50_ms"], "p99 ms": found["p99_ms"]}
    if load == "paced":
        job = PacedJob(**fields, rate=RECORDS_A_SECOND, seconds=seconds, linger_ms=5)
        found, _ = bench.run_ready("paced", job)
        return {"p50 ms": found["p50_ms"], "p99 ms": found["p99_ms"]}
    found, _ = bench.run_ready(
        "produce", ProduceJob(**fields, seconds=min(seconds, BULK_SECONDS), wait_for_start=True)
    )
    assert not found["unacknowledged"]
    return {"MB/s": found["records"] * RECORD_BYTES / found["seconds"] / 1e6}


def _page(server: Server) -> str:
    address = f"http://{server.settings['kawal.http.listen']}/metrics"
    with urllib.request.urlopen(address, timeout=30) as page:
        text: str = page.read().decode()
    return text


def _puts(server: Server) -> Puts:
    """Return the PUTs of the journal so far; none with durability `disk`."""
    values = dict(
        line.split() for line in _page(server).splitlines() if line.startswith("kawal_remote_journal_put")
    )
    names = ("kawal_remote_journal_puts_total", "kawal_remote_journal_put_seconds_total")
    return Puts(*(float(values.get(name, 0)) for name in names))


COLUMNS: Final = (
    "one p50 ms", "one p99 ms", "one PUTs/s", "paced p50 ms", "paced p99 ms", "paced PUTs/s",
    "bulk MB/s", "bulk PUTs/s",
)  # fmt: skip


def table(found: Found) -> str:
    """Return the medians as a table of Markdown, a row for each part; what a part does not have is a dash."""
    lines = [f"| durability | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, part in PARTS.items():
        cells = [found.get(f"{name} {column}", {}).get("kawal") for column in COLUMNS]
        if any(cells):
            shown = [f"{median(cell):.1f}" if cell else "-" for cell in cells]
            lines.append(f"| {part.title} | {' | '.join(shown)} |")
    others = [value for name, by in found.items() if name.endswith(" other cores") for value in by["kawal"]]
    if others:
        lines.append(
            f"\nthe store and other programs used {median(others):.1f} cores of {CORES} meanwhile (median)"
        )
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    options = options_of("benchmarks.bench_remote", __doc__, words, parts=PARTS, servers=["kawal"])
    print(table(in_rounds(options, measure)))


if __name__ == "__main__":
    main()
