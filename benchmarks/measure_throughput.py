"""Throughput: produce, consume warm and cold, one producer with many consumers."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, cast

from benchmarks import page_cache
from benchmarks.bench import Bench, Load, MeasurementError
from benchmarks.clients.jobs import ConsumeJob, Figures, ProduceJob
from benchmarks.scale import MB

GB = 1_000_000_000

FILL_LINGER_MS = 50
"""Filling is not measured: larger batches make it shorter.  Both servers store the same batches."""

WARM_UP_PARTITIONS = 4
WARM_UP_RECORD_BYTES = 1_000
STILL_WARMING = 0.9
"""A step that costs less than this share of the step before shows that a compiler is still at work."""


def warm_up(bench: Bench) -> None:
    """Load a fresh server with writes and reads until its cost per byte stops falling, or time is up.

    A Java machine compiles its hot path meanwhile; otherwise that would be measured too.
    """
    before = float("inf")
    for _ in range(bench.scale.warm_up_steps):
        cost = _warm_up_step(bench)
        if cost > STILL_WARMING * before:
            return
        before = cost


def _warm_up_step(bench: Bench) -> float:
    """Write and read for a moment; return CPU seconds per byte."""
    job = ProduceJob(
        **bench.address,
        topic=bench.new_topic(WARM_UP_PARTITIONS),
        partitions=WARM_UP_PARTITIONS,
        record_bytes=WARM_UP_RECORD_BYTES,
        seconds=bench.scale.warm_up_seconds,
    )
    with bench.cost() as cost:
        written = bench.run("produce", job)
        if written["unacknowledged"]:
            raise MeasurementError(f"{written['unacknowledged']:.0f} warm-up records were not acknowledged")
        records = int(written["records"]) + job.warm_up_records
        read = ConsumeJob(
            **bench.address,
            topic=job.topic,
            partitions=WARM_UP_PARTITIONS,
            record_bytes=WARM_UP_RECORD_BYTES,
            records=records,
        )
        bench.run("consume", read)
    return cost.cpu_seconds / records


def produce(bench: Bench, *, record_bytes: int, partitions: int, acks: int, **special: bool | int) -> Figures:
    """Measure one producer process at full speed; every record counted was acknowledged.

    `special` are further fields of the job.
    """
    job = ProduceJob(
        **bench.address,
        topic=bench.new_topic(partitions),
        partitions=partitions,
        record_bytes=record_bytes,
        acks=acks,
        client=bench.scale.client,
        seconds=bench.scale.produce_seconds,
        records=bench.scale.produce_bytes // record_bytes,
        **cast("dict[str, Any]", special),
    )
    if bench.scale.client == "java":
        # Kafka's tools cannot wait for a start: their warm-up is part of the cost and of the bytes.
        with bench.cost() as cost:
            figures = bench.run("produce", job)
        moved = figures["records"] + figures["warm_records"]
    else:
        figures, cost = bench.run_ready("produce", replace(job, wait_for_start=True))
        moved = figures["records"]
    return _throughput(figures, record_bytes) | {
        "cpu_s_per_gb": cost.cpu_seconds / (moved * record_bytes) * GB,
        "unacknowledged": figures["unacknowledged"],
        "other_cpu_share": cost.other_cpu_share,
    }


def consume(bench: Bench, *, record_bytes: int, partitions: int) -> Figures:
    """Measure one consumer process reading what is in memory; all records must be there."""
    records = min(bench.scale.consume_bytes // record_bytes, bench.scale.consume_records)
    topic = fill(bench, record_bytes=record_bytes, partitions=partitions, records=records)
    return _read(bench, topic, record_bytes=record_bytes, partitions=partitions, records=records)


def consume_cold(bench: Bench, *, record_bytes: int, partitions: int) -> Figures:
    """Measure a consumer that catches up from disk: the data files are dropped from the page cache first."""
    records = bench.scale.cold_bytes // record_bytes
    topic = fill(bench, record_bytes=record_bytes, partitions=partitions, records=records)
    left = page_cache.drop(bench.server.data_directory)
    figures = _read(bench, topic, record_bytes=record_bytes, partitions=partitions, records=records)
    return figures | {"left_in_cache_mb": left / MB}


def fill(bench: Bench, *, record_bytes: int, partitions: int, records: int) -> str:
    """Store exactly `records` in a new topic, on disk, and return its name."""
    topic = bench.new_topic(partitions)
    job = ProduceJob(
        **bench.address,
        topic=topic,
        partitions=partitions,
        record_bytes=record_bytes,
        linger_ms=FILL_LINGER_MS,
        flush_seconds=120.0,
    )
    bench.run("produce", replace(job, records=records - job.warm_up_records))
    os.sync()
    return topic


def _read(bench: Bench, topic: str, *, record_bytes: int, partitions: int, records: int) -> Figures:
    job = ConsumeJob(
        **bench.address,
        topic=topic,
        partitions=partitions,
        record_bytes=record_bytes,
        records=records,
        client=bench.scale.client,
    )
    with bench.cost() as cost:
        figures = bench.run("consume", job)
    return _throughput(figures, record_bytes) | {
        "cpu_s_per_gb": cost.cpu_seconds / (records * record_bytes) * GB,
        "other_cpu_share": cost.other_cpu_share,
    }


def fan_out(bench: Bench, *, record_bytes: int, consumers: int) -> Figures:
    """Measure one producer and many consumers of the same partition, each reading everything as it comes."""
    records = bench.scale.fan_out_bytes // record_bytes
    common = {
        **bench.address,
        "topic": bench.new_topic(1),
        "record_bytes": record_bytes,
        "wait_for_start": True,
    }
    readers = [Load("consume", ConsumeJob(**common, records=records)) for _ in range(consumers)]
    writer = ProduceJob(**common)
    loads = [*readers, Load("produce", replace(writer, records=records - writer.warm_up_records))]
    try:
        for load in loads:
            load.wait_until_ready()
        with bench.cost() as cost:
            for load in loads:
                load.start()
            *read, written = [load.figures() for load in loads]
    finally:
        for load in loads:
            load.stop()
    seconds = max(figures["ended_at"] for figures in read) - written["started_at"]
    delivered = consumers * records * record_bytes
    return {
        "mb_per_s": delivered / MB / seconds,
        "records_per_s": consumers * records / seconds,
        "cpu_s_per_gb": cost.cpu_seconds / delivered * GB,
        "other_cpu_share": cost.other_cpu_share,
    }


def _throughput(figures: Figures, record_bytes: int) -> Figures:
    per_second = figures["records"] / figures["seconds"]
    return {
        "mb_per_s": per_second * record_bytes / MB,
        "records_per_s": per_second,
        "client_cpu_seconds": figures["client_cpu_seconds"],
    }
