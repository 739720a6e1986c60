"""Copies broken in the middle: the target, the source, the process that writes, the driver at each step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from compat_tests.broker import Broker
from compat_tests.pipeline_copies import CopyJob, read_all
from compat_tests.pipeline_jobs import produce_numbers
from compat_tests.pipeline_kills.cluster import busy_python_workers, kill
from compat_tests.pipeline_kills.ground import MANY, ended, in_mid_batch
from compat_tests.pipeline_kills.processes import running
from compat_tests.topics import create_topic

KILLED = -signal.SIGKILL
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

    def running(self) -> AbstractContextManager[subprocess.Popen[str]]:
        """Run the job's command in a process group of its own; it is killed at the end of the block."""
        return running(self.job.file)

    def must_be_equal(self) -> None:
        """Run the job to its end, and compare both sides."""
        for _ in range(RUNS_MAX):
            if self.job.run().code == 0:
                break
        self.job.must_be_equal(MANY)
        copied = [json.loads(value or b"")["n"] for _, _, value, _, _ in read_all(self.target, self.topic)]
        assert copied == [*range(0, MANY, 2), *range(1, MANY, 2)]


def make_copy_ground(source: Broker, target: Broker, folder: Path) -> CopyGround:
    """Make the topic, and a job that copies it in batches of a third."""
    folder.mkdir(parents=True)
    topic = create_topic(source, f"copies-{os.getpid()}-{next(_serial)}", 2)
    produce_numbers(source, topic, range(MANY))
    job = CopyJob(folder, source, target, topic)
    text = job.file.read_text()
    job.file.write_text(
        text.replace("max_offsets_per_trigger = 40", f"max_offsets_per_trigger = {MANY // 3}")
    )
    return CopyGround(source, target, topic, job)


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


def driver_dies(step: str) -> Callable[[CopyGround], None]:
    """Return the scenario of a driver that is killed at `step` of its first batch, and of its second."""

    def scenario(ground: CopyGround) -> None:
        for batch in (0, 1):
            assert ground.job.run_and_die(step, batch).code == KILLED
        ground.must_be_equal()

    return scenario


COPY_SCENARIOS: dict[str, Callable[[CopyGround], None]] = {
    "copy-target": broker_dies("target"),
    "copy-source": broker_dies("source"),
    "copy-writer": writer_dies,
    **{f"copy-driver-{step}": driver_dies(step) for step in ("planned", "written", "staged", "landed")},
}
