"""The program of C that loads servers in benchmarks sends and reads exactly what it counts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict

from benchmarks.clients.jobs import ConsumeJob, Figures, Job, ProduceJob, SmallRecordsJob
from compat_tests.broker import HOST, Broker
from compat_tests.conftest import MakeTopic

RECORD_BYTES = 100


def run(kind: str, job: Job) -> subprocess.CompletedProcess[str]:
    """Run a load in a process of its own, as the benchmark does."""
    command = [sys.executable, "-m", "benchmarks.clients", kind, json.dumps(asdict(job))]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def figures(kind: str, job: Job) -> Figures:
    """Return what a load has measured."""
    ended = run(kind, job)
    assert ended.returncode == 0, ended.stderr
    answer: Figures = json.loads(ended.stdout.splitlines()[-1])
    return answer


def consumer(broker: Broker, topic: str, records: int) -> ConsumeJob:
    """Return the job of reading so many records of three partitions."""
    return ConsumeJob(
        host=HOST, port=broker.port, topic=topic, partitions=3, record_bytes=RECORD_BYTES, records=records
    )


def test_a_consumer_finds_exactly_the_records_that_a_producer_counts(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=3)
    job = ProduceJob(
        host=HOST, port=broker.port, topic=topic, partitions=3, record_bytes=RECORD_BYTES, records=20_000
    )
    written = figures("produce", job)
    assert (written["records"], written["unacknowledged"]) == (20_000, 0)
    stored = 20_000 + job.warm_up_records
    assert figures("consume", consumer(broker, topic, stored))["records"] == stored
    short = run("consume", consumer(broker, topic, stored - 1))
    assert short.returncode == 1
    assert "another number of records" in short.stderr


def test_small_requests_that_were_counted_are_stored(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    job = SmallRecordsJob(
        host=HOST, port=broker.port, topic=topic, partitions=3, record_bytes=RECORD_BYTES,
        seconds=1.5, connections=4, in_flight=5,
    )  # fmt: skip
    found = figures("small_records", job)
    assert found["requests"] > 0
    assert 0 < found["p50_ms"] <= found["p99_ms"]
    short = run("consume", consumer(broker, topic, 1))
    assert short.returncode == 1, "more than one record was stored"
