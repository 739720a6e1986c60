"""A driver that ends by SIGKILL at a chosen step of a chosen batch of its checkpoint.

    python -m compat_tests.land_and_die JOB_FILE STEP BATCH

`pipeline.jobs.land` names the steps. Run it as the leader of its process group, which dies with it; the JVM,
in a group of its own, ends when it reads the end of its input.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pipeline.job_file import load
from pipeline.report import JsonReport
from pipeline.run import run_job


def main(job_file: str, step: str, batch: str) -> int:
    """Run the job and die on the way."""

    def die(at_step: str, at_batch: int) -> None:
        if (at_step, at_batch) == (step, int(batch)):
            os.killpg(0, signal.SIGKILL)

    return run_job(load(Path(job_file)), JsonReport(sys.stdout), probe=die)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
