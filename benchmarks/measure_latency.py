"""Latency and small requests, from raw sockets."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.clients.jobs import Figures, FixedRateJob, OneInFlightJob, SmallRecordsJob, SmallRequestsJob
from benchmarks.scale import MB

RECORD_BYTES = 1_000
SMALL_RECORD_BYTES = 100
SMALL_PARTITIONS = 4


def one_in_flight(bench: Bench, *, acks: int) -> Figures:
    """Measure the acknowledgement of one record of 1 KB, one request at a time."""
    job = OneInFlightJob(
        **bench.address,
        topic=bench.new_topic(1),
        record_bytes=RECORD_BYTES,
        acks=acks,
        seconds=bench.scale.latency_seconds,
    )
    with bench.cost() as cost:
        figures = bench.run("one_in_flight", job)
    return figures | {"other_cpu_share": cost.other_cpu_share}


def fixed_rate(bench: Bench, *, mb_per_second: int) -> Figures:
    """Measure the acknowledgement of a batch every millisecond, from the time it should have been sent."""
    job = FixedRateJob(
        **bench.address,
        topic=bench.new_topic(1),
        record_bytes=RECORD_BYTES,
        seconds=bench.scale.latency_seconds,
        bytes_per_second=mb_per_second * MB,
    )
    with bench.cost() as cost:
        figures = bench.run("fixed_rate", job)
    return figures | {"other_cpu_share": cost.other_cpu_share}


def small_requests(bench: Bench, *, connections: int, in_flight: int, acks: int) -> Figures:
    """Measure one-record Produce requests, many at once."""
    job = SmallRequestsJob(
        **bench.address,
        topic=bench.new_topic(SMALL_PARTITIONS),
        partitions=SMALL_PARTITIONS,
        record_bytes=SMALL_RECORD_BYTES,
        acks=acks,
        seconds=bench.scale.small_seconds,
        connections=connections,
        in_flight=in_flight,
    )
    with bench.cost() as cost:
        figures = bench.run("small_requests", job)
    return {
        "requests_per_s": figures["requests"] / figures["seconds"],
        "cpu_us_per_request": cost.cpu_seconds / figures["requests"] * 1e6,
        "other_cpu_share": cost.other_cpu_share,
    }


def small_records(bench: Bench, *, connections: int, in_flight: int) -> Figures:
    """Measure stock producers that send each record in a request of its own."""
    job = SmallRecordsJob(
        **bench.address,
        topic=bench.new_topic(SMALL_PARTITIONS),
        partitions=SMALL_PARTITIONS,
        record_bytes=SMALL_RECORD_BYTES,
        seconds=bench.scale.small_seconds,
        connections=connections,
        in_flight=in_flight,
        wait_for_start=True,
    )
    figures, cost = bench.run_ready("small_records", job)
    return {
        "requests_per_s": figures["requests"] / figures["seconds"],
        "cpu_us_per_request": cost.cpu_seconds / figures["requests"] * 1e6,
        "p50_ms": figures["p50_ms"],
        "p99_ms": figures["p99_ms"],
        "client_cpu_seconds": figures["client_cpu_seconds"],
        "other_cpu_share": cost.other_cpu_share,
    }
