"""A driver that ends by SIGKILL at a chosen step of a chosen batch of its checkpoint.

    python -m compat_tests.land_and_die JOB_FILE STEP BATCH [run | compact | replay]

`pipeline.probe` names the steps. Run it as the leader of its process group, which dies with it; the JVM,
in a group of its own, ends when it reads the end of its input.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pipeline.compact import compact_job
from pipeline.job_file import load
from pipeline.report import JsonReport
from pipeline.run import run_job
from pipeline.upkeep import replay_job

COMPACTED_BYTES = 1 << 20


def main(job_file: str, step: str, batch: str, action: str = "run") -> int:
    """Run, compact or replay the job and die on the way."""

    def die(at_step: str, at_batch: int) -> None:
        if (at_step, at_batch) == (step, int(batch)):
            os.killpg(0, signal.SIGKILL)

    job = load(Path(job_file))
    if action == "compact":
        return compact_job(job, COMPACTED_BYTES, sys.stdout, probe=die)
    if action == "replay":
        return replay_job(job, sys.stdout, probe=die)
    return run_job(job, JsonReport(sys.stdout), probe=die)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
