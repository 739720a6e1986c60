"""A driver that ends by SIGKILL, its JVM with it, at a chosen step of a chosen batch of its checkpoint.

    python -m compat_tests.land_and_die JOB_FILE planned|staged|landed BATCH

planned: the range is in Spark's log, but nothing is written. staged: the batch is made, but the table does
not show it. landed: it is in the table, but Spark has not noted it yet. Run it as the leader of its process
group, which dies with it.
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
