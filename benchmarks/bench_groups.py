"""The cost of groups: `python -m benchmarks.bench_groups [join] [heartbeat] [offsets] [--small]`.

    join        500 members join one group, by either protocol: seconds until every member has an assignment
    heartbeat   1,000 groups of 10 members beat every 3 s for 30 s: the server's CPU and memory
    offsets     1,000,000 committed offsets: seconds until a killed server answers for all of them again; then
                the longest time its loop is busy, while it loads and while it rewrites them

Clients are raw sockets, one for each member, and share the machine with the server. Exit code 1: a bar is
not met. The server runs with its defaults.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from benchmarks import groups_heartbeats, groups_joins, groups_offsets
from benchmarks.environment import REPOSITORY
from compat_tests.kawal_broker import KawalBroker

WORKING_DIRECTORY = REPOSITORY / ".cache" / "benchmarks"


class Bar(NamedTuple):
    """A figure and its limit; infinity where there is none."""

    what: str
    figure: float
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        """Whether the figure is within the limit."""
        return self.figure <= self.limit

    def __str__(self) -> str:
        verdict = "met" if self.met else "NOT MET"
        bar = "" if self.limit == inf else f"(at most {self.limit:g}: {verdict})"
        return f"{self.what:64} {self.figure:9.2f} {self.unit:4} {bar}"


Measure = Callable[[KawalBroker, bool], list[tuple[str, float, float, str]]]

MEASURES: dict[str, Measure] = {
    "join": groups_joins.measure,
    "heartbeat": groups_heartbeats.measure,
    "offsets": groups_offsets.measure,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the parts asked for; return 1 if a bar is not met."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_groups", description=__doc__)
    parser.add_argument("measures", nargs="*", choices=[*MEASURES, []], help="default: all")
    parser.add_argument("--small", action="store_true", help="a hundredth of the size: to try the script")
    arguments = parser.parse_args(words)
    all_met = True
    for name in arguments.measures or MEASURES:
        WORKING_DIRECTORY.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix="groups-", dir=WORKING_DIRECTORY))
        broker = KawalBroker(directory, {})
        try:
            broker.start()
            for row in MEASURES[name](broker, arguments.small):
                bar = Bar(*row)
                all_met &= bar.met
                print(bar, flush=True)
        finally:
            broker.kill()
            shutil.rmtree(directory)
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
