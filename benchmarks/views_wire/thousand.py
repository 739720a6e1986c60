"""1,000 views on one topic with one waiting consumer each: memory, processor time idle and loaded, a restart.

The producer has a process of its own, so that its acknowledgements are timed when they come; all consumers
share one thread, whose processor time is printed: below one core it does not slow the server down.
"""

from __future__ import annotations

import time

from confluent_kafka.admin import NewTopic

from benchmarks import proc
from benchmarks.bench import Load
from benchmarks.clients import flights
from benchmarks.clients.idle_views import IdleConsumers
from benchmarks.clients.jobs import Figures, PacedJob
from benchmarks.summary import percentile
from benchmarks.views_wire.setting import TOPIC, Tell, admin, create, gateway
from compat_tests.broker import HOST, Broker

VIEWS = 1_000
CREATE_AT_ONCE = 100
RATES = (10, 100, 1_000, 10_000)
SECONDS, QUICK_SECONDS = 10.0, 4.0
START_SECONDS = 60.0
MB = 1e6


def measure(tell: Tell, *, quick: bool) -> None:
    """Make the views, let their consumers wait, then produce at rising rates."""
    seconds = QUICK_SECONDS if quick else SECONDS
    with gateway() as broker:
        create(broker, TOPIC, kawal_columns=flights.COLUMNS)
        pid = broker.process.pid
        empty = proc.memory(pid).resident_bytes
        began = time.monotonic()
        _create_views(broker)
        tell(f"{VIEWS:,} views made in {time.monotonic() - began:.1f} s")
        with IdleConsumers(broker.port, [f"v{number}" for number in range(VIEWS)]) as consumers:
            consumers.run(3)
            tell(f"memory: {(proc.memory(pid).resident_bytes - empty) / MB:.0f} MB more than with none")
            _idle(consumers, pid, seconds, tell)
            first = 0
            for rate in RATES:
                first = _under(consumers, broker, rate=rate, seconds=seconds, first=first, tell=tell)
            memory = proc.memory(pid)
            now, peak = memory.resident_bytes / MB, memory.peak_bytes / MB
            tell(f"memory at the end: {now:.0f} MB, at most {peak:.0f} MB")
        _restart(broker, first, tell)


def _create_views(broker: Broker) -> None:
    client = admin(broker)
    for start in range(0, VIEWS, CREATE_AT_ONCE):
        new = [
            NewTopic(
                f"v{number}",
                -1,
                -1,
                config={"kawal.sql": f"SELECT id FROM {TOPIC} WHERE id % {VIEWS} = {number}"},
            )
            for number in range(start, start + CREATE_AT_ONCE)
        ]
        for made in client.create_topics(new).values():
            made.result(60)


def _restart(broker: Broker, end: int, tell: Tell) -> None:
    """Kill the server; tell how soon it is back, and how soon all views have shown everything again."""
    broker.kill()
    began = time.monotonic()
    broker.start()
    ready = time.monotonic() - began
    with IdleConsumers(broker.port, [f"v{number}" for number in range(VIEWS)]) as consumers:
        seconds = consumers.run_until_all_at(end, within_seconds=120)
    used, memory = proc.cpu_seconds(broker.process.pid), proc.memory(broker.process.pid)
    tell(
        f"killed and started: ready in {ready:.2f} s; {VIEWS:,} consumers have read all {end:,} records"
        f" {seconds:.1f} s later, {used:.1f} s of a processor, at most {memory.peak_bytes / MB:.0f} MB"
    )


def _idle(consumers: IdleConsumers, pid: int, seconds: float, tell: Tell) -> None:
    before, answers = proc.cpu_seconds(pid), consumers.answers
    consumers.run(seconds)
    tell(
        f"idle: {(proc.cpu_seconds(pid) - before) / seconds:.0%} of a core,"
        f" {(consumers.answers - answers) / seconds:,.0f} answers/s"
    )


def _under(
    consumers: IdleConsumers, broker: Broker, *, rate: int, seconds: float, first: int, tell: Tell
) -> int:
    """Produce `rate` records a second for some seconds; return the number of the next record."""
    job = PacedJob(host=HOST, port=broker.port, topic=TOPIC, rate=rate, seconds=seconds, first=first)
    load = Load("paced", job)
    try:
        consumers.run_until(load.is_ready, within_seconds=START_SECONDS)
        pid = broker.process.pid
        consumers.delays.clear()
        used, client, answers = proc.cpu_seconds(pid), consumers.seconds_used, consumers.answers
        load.start()
        consumers.run(seconds)
        used, client = proc.cpu_seconds(pid) - used, consumers.seconds_used - client
        answers = consumers.answers - answers
        late = consumers.run_until(load.has_ended, within_seconds=120)
        figures = load.figures()
    finally:
        load.stop()
    behind = consumers.run_until_all_at(int(figures["end"]), within_seconds=60)
    tell(
        f"{rate:,} records/s: {used / seconds:.0%} of a core, {answers / seconds:,.0f} answers/s;"
        f" consumers {client / seconds:.0%} of a core, producer {figures['client_cpu_seconds'] / seconds:.0%}"
    )
    tell(f"      {_latencies(consumers, figures)}")
    tell(f"      acknowledged {late:.1f} s after the last was due, all views at the end {behind:.1f} s later")
    return first + int(figures["records"])


def _latencies(consumers: IdleConsumers, figures: Figures) -> str:
    """Return the latencies: due to acknowledged, and time stamp to arrival at the view's consumer."""
    text = f"acknowledged p50 {figures['p50_ms']:.0f} ms, p99 {figures['p99_ms']:.0f} ms"
    ordered = sorted(consumers.delays)
    if not ordered:
        return f"{text}; no view has shown a record"
    p50, p99 = percentile(ordered, 0.5) * 1e3, percentile(ordered, 0.99) * 1e3
    return f"{text}; in the view p50 {p50:.0f} ms, p99 {p99:.0f} ms, worst {ordered[-1] * 1e3:.0f} ms"
