"""Jobs of the pipeline as a user runs them: a job file, the command, its JSON events, the files it leaves."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.kawal_broker import KAWAL
from compat_tests.spark import spark_session
from compat_tests.waiting import eventually
from pipeline.job_file import load
from pipeline.report import JsonReport
from pipeline.run import run_job

JOB = """
[job]
name = "{name}"
[source]
bootstrap = "{bootstrap}"
topics = ["{topic}"]
max_offsets_per_trigger = 40
[sink]
path = "lake/t"
[spark]
quick_start = true
driver_memory = "512m"
{more}
"""

JSON_SCHEMA = """
[schema]
mode = "json"
columns = "n int not null"
"""

DEADLINE_SECONDS = float(os.environ.get("PIPELINE_JOB_SECONDS", "150"))
"""A run takes 10 s on two idle cores; beside other tests it may take a minute, beside other rigs several."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its events, when it was run with `--log json`."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        """The event at the end of a run."""
        [summary] = [event for event in self.events if event["event"] == "summary"]
        return summary


class PipelineJob:
    """A job file in a folder of its own, landing one topic in lake/t."""

    def __init__(self, folder: Path, broker: Broker, topic: str, more: str = JSON_SCHEMA) -> None:
        """Write the job file; `more` is TOML at its end."""
        self.folder = folder
        self.file = folder / "land.toml"
        self.file.write_text(JOB.format(name="land-t", bootstrap=broker.bootstrap, topic=topic, more=more))

    @property
    def checkpoint(self) -> Path:
        """Spark's checkpoint."""
        return self.folder / "lake" / ".t.landing" / "checkpoint"

    def run(self) -> Ended:
        """Run the job to its end as its command."""
        return run(KAWAL, "pipe", "run", str(self.file), "--log", "json")

    def run_here(self) -> dict[str, Any]:
        """Run the job to its end in the Spark session of this process and return its summary."""
        spark_session()
        out = io.StringIO()
        assert run_job(load(self.file), JsonReport(out)) == 0
        return Ended(0, out.getvalue(), "").summary

    def run_and_die(self, step: str, batch: int = 0, action: str = "run") -> Ended:
        """Run, compact or replay the job in a process that kills itself and its JVM at a step of a batch."""
        module = "compat_tests.land_and_die"
        return run(sys.executable, "-m", module, str(self.file), step, str(batch), action)

    def preview_here(self, limit: int) -> list[str]:
        """Preview the job in the session of this process; return the lines."""
        spark_session()
        from pipeline.preview import preview_job

        out = io.StringIO()
        preview_job(load(self.file), limit, out, io.StringIO())
        return out.getvalue().splitlines()

    def pipe(self, action: str, *arguments: str) -> Ended:
        """Run another action of `kawal pipe` on the job file."""
        return run(KAWAL, "pipe", action, str(self.file), *arguments)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return the rows of the table, by partition and offset."""
        table = spark_session().read.parquet(str(self.folder / "lake" / "t"))
        return [tuple(row) for row in table.orderBy("partition", "offset").select(*columns).collect()]

    def bad(self) -> list[tuple[Any, ...]]:
        """Return offset, value and reason of the rows in the quarantine."""
        table = (
            spark_session().read.parquet(str(self.folder / "lake" / "t_bad")).orderBy("partition", "offset")
        )
        return [(row.offset, bytes(row.value), row.reason) for row in table.collect()]

    def wait_for_first_batch(self) -> None:
        """Wait for files in the table: of a job that is started, in a machine's worst minute."""
        eventually(self.files, waiting_for="the first batch", within_seconds=DEADLINE_SECONDS)

    def files(self) -> dict[str, int]:
        """Return every file of the table and the quarantine with the time it was written."""
        tables = [self.folder / "lake" / name for name in ("t", "t_bad")]
        found = [path for table in tables for path in table.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): path.stat().st_mtime_ns for path in found}


def run(*command: str) -> Ended:
    """Run a command in a process group of its own, to be killed as one."""
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=DEADLINE_SECONDS, start_new_session=True, check=False
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def produce_numbers(broker: Broker, topic: str, numbers: Sequence[int], *, partitions: int = 2) -> None:
    """Produce `{"n":NUMBER}` to partition NUMBER modulo `partitions`."""
    produce_values(broker, topic, [(number % partitions, b'{"n":%d}' % number) for number in numbers])


def produce_values(broker: Broker, topic: str, values: Sequence[tuple[int, bytes | None]]) -> None:
    """Produce values to given partitions, in order."""
    producer = make_producer(broker)
    for partition, value in values:
        producer.produce(topic, value, key=b"k", partition=partition, headers=[("trace", b"\x01")])
    assert producer.flush(60) == 0
