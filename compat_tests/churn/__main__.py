"""`python -m compat_tests.churn`: the churn for as long as you like."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from compat_tests.churn.master import WORKERS, Churn
from compat_tests.kawal_broker import KawalBroker


def main() -> int:
    """Run it and print what happened."""
    parser = argparse.ArgumentParser(prog="compat_tests.churn", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes with three members each")
    parser.add_argument("--view", action="store_true", help="the members read a view beside the topic")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="churn-"))
    print(f"notes are in {directory}", flush=True)
    broker = KawalBroker(directory, {"group.initial.rebalance.delay.ms": "0"})
    broker.start()
    try:
        churn = Churn(
            broker,
            directory,
            seed=arguments.seed,
            workers=arguments.workers,
            reads_view=arguments.view,
        )
        verdict = churn.run(arguments.minutes * 60, tell=lambda line: print(line, flush=True))
    finally:
        broker.kill()
    print(verdict)
    return 0


if __name__ == "__main__":
    sys.exit(main())
