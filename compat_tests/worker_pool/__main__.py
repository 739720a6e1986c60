"""`python -m compat_tests.worker_pool`: the worker pool with as many jobs as you like."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from compat_tests.kawal_broker import KawalBroker
from compat_tests.worker_pool.master import WorkerPool

SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}


def main() -> int:
    """Run it and print what happened."""
    parser = argparse.ArgumentParser(prog="compat_tests.worker_pool", description=__doc__)
    parser.add_argument("--jobs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lock-seconds", type=float, default=15.0)
    parser.add_argument("--minutes-max", type=float, default=20.0)
    parser.add_argument("--kill-every-seconds", type=float, default=5.0, help="a worker, chosen by chance")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="worker-pool-"))
    print(f"notes are in {directory}", flush=True)
    broker = KawalBroker(directory, SETTINGS)
    broker.start()
    try:
        pool = WorkerPool(
            broker,
            directory,
            jobs=arguments.jobs,
            lock_seconds=arguments.lock_seconds,
            seed=arguments.seed,
        )
        verdict = pool.run(
            within_seconds=arguments.minutes_max * 60,
            kill_every_seconds=arguments.kill_every_seconds,
            tell=lambda line: print(line, flush=True),
        )
    finally:
        broker.kill()
    print(verdict)
    return 0


if __name__ == "__main__":
    sys.exit(main())
