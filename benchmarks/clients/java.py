"""Kafka's own performance tools, each a Java process; they count records instead of seconds."""

from __future__ import annotations

import re
import resource
from dataclasses import dataclass

from benchmarks.clients.jobs import ConsumeJob, Figures, Job, LoadError, ProduceJob
from compat_tests.java import run_java

BYTES_PER_RUN = 400_000_000
RECORDS_PER_RUN = 2_000_000
WARM_UP_SHARE = 0.25
"""The share of the records that only warm up the Java machine."""

LINE = re.compile(r"(\d+) (?:steady state )?records sent, ([\d.]+) records/sec")


@dataclass(slots=True)
class _Cpu:
    """The CPU time of the child processes that have ended since this was created."""

    before: float = 0.0

    def seconds(self) -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime - self.before


def produce(job: ProduceJob) -> Figures:
    """Run ProducerPerformance; the figures are those of its steady state, after the warm-up.

    Raises: LoadError if it printed no summary or was told to wait for a start, which it cannot.
    """
    _refuse_start_line(job, job.wait_for_start)
    total = job.records or int(min(RECORDS_PER_RUN, BYTES_PER_RUN // job.record_bytes))
    warm = int(total * WARM_UP_SHARE)
    cpu = _Cpu()
    cpu.before = cpu.seconds()
    output = run_java(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--bootstrap-server", job.bootstrap, "--topic", job.topic),
        *("--num-records", str(total), "--warmup-records", str(warm)),
        *("--record-size", str(job.record_bytes), "--throughput", "-1", "--command-property"),
        *(
            f"acks={job.acks}",
            f"linger.ms={job.linger_ms}",
            f"batch.size={job.batch_bytes}",
            "buffer.memory=67108864",
        ),
        timeout_seconds=180,
    ).stdout
    summaries = LINE.findall(output)
    if not summaries:
        raise LoadError(f"ProducerPerformance printed no summary: {output[-500:]!r}")
    count, per_second = int(summaries[-1][0]), float(summaries[-1][1])
    return {
        "records": count,
        "warm_records": total - count,
        "unacknowledged": 0,
        "seconds": count / per_second,
        "client_cpu_seconds": cpu.seconds(),
    }


def consume(job: ConsumeJob) -> Figures:
    """Run ConsumerPerformance, which subscribes in a group: the broker must coordinate groups.

    Raises: LoadError if it read too few records.
    """
    _refuse_start_line(job, job.wait_for_start)
    cpu = _Cpu()
    cpu.before = cpu.seconds()
    output = run_java(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", job.bootstrap, "--topic", job.topic, "--num-records", str(job.records)),
        *("--timeout", "10000", "--hide-header"),
        timeout_seconds=job.limit_seconds + 30,
    ).stdout
    # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
    fields = output.strip().splitlines()[-1].split(", ")
    if len(fields) != 10 or int(fields[4]) < job.records:
        raise LoadError(f"ConsumerPerformance read fewer than {job.records} records: {output[-500:]!r}")
    return {
        "records": float(fields[4]),
        "seconds": float(fields[7]) / 1_000,
        "client_cpu_seconds": cpu.seconds(),
    }


def _refuse_start_line(job: Job, wait_for_start: bool) -> None:
    if wait_for_start:
        raise LoadError(f"Kafka's tools cannot wait for a start: measure {job.topic} with another client")
