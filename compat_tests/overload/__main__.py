"""Run the loads at their full size and print the figures: `python -m compat_tests.overload --seconds 60`."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

from compat_tests.kawal_broker import KawalBroker
from compat_tests.overload.loads import LOADS
from compat_tests.overload.measure import measure
from compat_tests.overload.partitions import measure_partitions

PARTITIONS = "partitions"

SETTINGS = {"kawal.http.listen": "none", "kawal.max.partitions.per.request": "100000"}


def main() -> None:
    """Run the loads that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m compat_tests.overload", description=__doc__)
    parser.add_argument("loads", nargs="*", choices=[*LOADS, PARTITIONS, []], metavar="LOAD")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each load lasts")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with contextlib.suppress(PermissionError):
        # As root: no other process comes between the gateway and its good client; the loads step back.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    for name in arguments.loads or [*LOADS, PARTITIONS]:
        with tempfile.TemporaryDirectory(prefix="kawal-overload-") as directory:
            broker = KawalBroker(Path(directory), SETTINGS)
            broker.start()
            try:
                if name == PARTITIONS:
                    for topics in (1, 5_000):
                        figures = measure_partitions(
                            broker, partitions=50_000, topics=topics, records=40_000, seed=arguments.seed
                        )
                        print(figures.line, flush=True)
                        broker.stop()
                        broker = KawalBroker(Path(directory) / str(topics), SETTINGS)
                        broker.start()
                else:
                    print(
                        measure(broker, name, seconds=arguments.seconds, seed=arguments.seed).line, flush=True
                    )
            finally:
                broker.stop()


if __name__ == "__main__":
    main()
