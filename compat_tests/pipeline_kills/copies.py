"""Copies broken in the middle: the target, the source, the process that writes, the driver at each step."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from compat_tests.broker import Broker
from compat_tests.pipeline_copies import CopyJob, read_all
from compat_tests.pipeline_jobs import produce_numbers
from compat_tests.pipeline_kills.cluster import (
    EXECUTOR,
    busy_python_workers,
    cluster,
    kill,
    move_to_cluster,
    named,
)
from compat_tests.pipeline_kills.ground import MANY, ended, in_mid_batch
from compat_tests.pipeline_kills.processes import running
from compat_tests.pipeline_kills.scenarios import must_have_died
from compat_tests.topics import create_topic

COPY_KINDS = ("replicate", "derive")
COPY_STEPS = ("planned", "written", "staged", "placed", "landed")
"""The points of `pipeline.probe` at which the driver of a copy dies."""

RUNS_MAX = 4
"""The runs that a copy may take after something was broken once."""

_serial = count(1)


@dataclass(slots=True)
class CopyGround:
    """A topic of MANY records on one broker, and the job that copies it to another."""

    source: Broker
    target: Broker
    topic: str
    job: CopyJob
    kind: str

    @property
    def wanted(self) -> list[int]:
        """The numbers that the target must hold, by partition and in order."""
        return list(_numbers(self.kind))

    def edit(self, old: str, new: str) -> None:
        """Replace some text of the job file, which must be there."""
        text = self.job.file.read_text()
        assert old in text, f"the job file has no {old!r}"
        self.job.file.write_text(text.replace(old, new))

    def running(self) -> AbstractContextManager[subprocess.Popen[str]]:
        """Run the job's command in a process group of its own; it is killed at the end of the block."""
        return running(self.job.file)

    def must_be_equal(self) -> None:
        """Run the job to its end, and compare both sides."""
        for _ in range(RUNS_MAX):
            if self.job.run().code == 0:
                break
        self.job.must_be_equal(len(self.wanted))
        copied = [json.loads(value or b"")["n"] for _, _, value, _, _ in read_all(self.target, self.topic)]
        assert copied == self.wanted


def _numbers(kind: str) -> Iterator[int]:
    for partition in range(2):
        for number in range(partition, MANY, 2):
            if kind == "replicate" or number % 3 == 1:
                yield number


def make_copy_ground(source: Broker, target: Broker, folder: Path, kind: str) -> CopyGround:
    """Make the topic, and a job that copies it, or every third record of it, in batches of a third."""
    folder.mkdir(parents=True)
    topic = create_topic(source, f"copies-{os.getpid()}-{next(_serial)}", 2)
    produce_numbers(source, topic, range(MANY))
    query = f"SELECT n FROM `{topic}` WHERE n % 3 = 1"
    view = f'view = "{query}"\nview_columns = "n int"' if kind == "derive" else ""
    job = CopyJob(folder, source, target, topic, kind=kind, view=view)
    ground = CopyGround(source, target, topic, job, kind)
    ground.edit("max_offsets_per_trigger = 40", f"max_offsets_per_trigger = {MANY // 3}")
    return ground


def broker_dies(which: str) -> Callable[[CopyGround], None]:
    """Return the scenario of a source or target that is killed in mid-batch and started again."""

    def scenario(ground: CopyGround) -> None:
        broker = ground.target if which == "target" else ground.source
        with ground.running() as run:
            in_mid_batch(run, lambda: busy_python_workers([run.pid]))
            broker.kill()
            time.sleep(3)
            broker.restart()
            code, out = ended(run)
        assert code in (0, 1), out
        ground.must_be_equal()

    return scenario


def writer_dies(ground: CopyGround) -> None:
    """Kill the process that writes, in the middle of its transaction: the next run ends the transaction."""
    with ground.running() as run:
        kill(in_mid_batch(run, lambda: busy_python_workers([run.pid])))
        code, out = ended(run)
    assert code == 1, out
    ground.must_be_equal()


def executor_dies(ground: CopyGround) -> None:
    """Kill an executor of a cluster of two workers in its transactions: the same run goes on."""
    with cluster(ground.job.folder) as (master, workers):
        move_to_cluster(ground.edit, master)
        with ground.running() as run:
            in_mid_batch(run, lambda: busy_python_workers(workers))
            kill(named(workers, EXECUTOR)[0])
            code, out = ended(run)
        assert code == 0, out
        ground.edit(master, "local[2]")
    ground.must_be_equal()


def driver_dies(step: str) -> Callable[[CopyGround], None]:
    """Return the scenario of a driver that is killed at `step` of its first batch, and of its second."""

    def scenario(ground: CopyGround) -> None:
        for batch in (0, 1):
            must_have_died(ground.job.run_and_die(step, batch))
        ground.must_be_equal()

    return scenario


COPY_SCENARIOS: dict[str, Callable[[CopyGround], None]] = {
    "copy-target": broker_dies("target"),
    "copy-source": broker_dies("source"),
    "copy-writer": writer_dies,
    "copy-executor": executor_dies,
    **{f"copy-driver-{step}": driver_dies(step) for step in COPY_STEPS},
}
