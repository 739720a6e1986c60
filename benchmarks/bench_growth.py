"""Costs that must not grow with what exists: `python -m benchmarks.bench_growth [NAME ...] [--base N]`.

Each case does one unit of work beside 1, 10 and 100 times as much of what exists, and shows the processor
time of the unit.  Kawal runs in this process on a simulated disk, so only its own work counts.  The last
column is the cost at 100x in terms of that at 1x: about 1 where it depends on the change alone.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks import growth_groups, growth_topics
from broker.server.collector import calm_collector

Prepare = Callable[[int], Callable[[], float]]
"""Make so much exist; the result does one unit of work and returns its cost, in processor seconds."""

SCALES = (1, 10, 100)
ROUNDS = 7
BASE = 100


class Case(NamedTuple):
    """One cost."""

    unit: str
    """The work that is measured."""
    exists: str
    """The things of which there are 1x, 10x and 100x."""
    prepare: Prepare


CASES = {
    "retention": Case("check after one record", "partitions", growth_topics.retention_check),
    "retention-old": Case("check after one record", "old extents", growth_topics.retention_of_old_extents),
    "time-lookup": Case("offset of a time", "extents", growth_topics.lookup_by_time),
    "snapshot": Case("snapshot begun, per topic", "topics", growth_topics.catalogue_snapshot),
    "create": Case("topic created", "topics", growth_topics.topic_creation),
    "metadata": Case("metadata of all, nothing changed", "topics", growth_topics.metadata_of_all),
    "wake-up": Case("record that wakes fetches, per fetch", "fetches", growth_topics.wake_up),
    "timers": Case("longest run of due timers", "timers", growth_topics.due_timers),
    "join": Case("classic member joins", "members", growth_groups.classic_join),
    "heartbeat": Case("classic heartbeat", "members", growth_groups.classic_heartbeat),
    "consumer-join": Case("KIP-848 member joins", "members", growth_groups.consumer_join),
    "expiry": Case("longest tick, all sessions end", "members", growth_groups.session_ends),
    "commit": Case("longest step of a commit", "partitions", growth_groups.commit_of_many),
    "offset-fetch": Case("longest step of a fetch", "partitions", growth_groups.fetch_of_many),
}


class Row(NamedTuple):
    """The result of one case: the seconds of a unit at each scale."""

    name: str
    case: Case
    seconds: tuple[float, ...]

    @property
    def growth(self) -> float:
        """The cost at the largest scale by that at the smallest."""
        return self.seconds[-1] / max(self.seconds[0], 1e-9)

    def __str__(self) -> str:
        costs = "".join(f"{seconds * 1e6:>14,.1f}" for seconds in self.seconds)
        return f"{self.name:<15}{self.case.unit:<38}{self.case.exists:<13}{costs}{self.growth:>12.1f}"


def measure(name: str, base: int, rounds: int = ROUNDS) -> Row:
    """Return the costs of one case, medians of the rounds."""
    case = CASES[name]
    found = []
    for scale in SCALES:
        unit = case.prepare(base * scale)
        gc.collect()
        found.append(median(unit() for _ in range(rounds)))
    return Row(name, case, tuple(found))


def head(base: int) -> str:
    """Return the first line of the table."""
    scales = "".join(f"{f'{base * scale:,}, µs':>14}" for scale in SCALES)
    return f"{'':<15}{'unit of work':<38}{'beside':<13}{scales}{'100x / 1x':>12}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_growth", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; all without one")
    parser.add_argument("--base", type=int, default=BASE, help=f"how many are 1x (default {BASE})")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - CASES.keys()
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    # As in a server, which looks at new objects only: a full collection would be counted as the unit's.
    calm_collector()
    print(head(chosen.base))
    began = time.perf_counter()
    for name in chosen.names or CASES:
        print(measure(name, chosen.base), flush=True)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
