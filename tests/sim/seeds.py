"""The seeds that the tests of this folder simulate.

KAWAL_SIM_SEEDS says how many (KAWAL_SIM_VIEW_SEEDS for views), KAWAL_SIM_FIRST which one is the first.
"""

from __future__ import annotations

import os

FIRST = int(os.environ.get("KAWAL_SIM_FIRST", "0"))


def seed_count(default: int, variable: str = "KAWAL_SIM_SEEDS") -> int:
    """Return how many seeds are simulated."""
    return int(os.environ.get(variable, default))


def seeds_of(group: int, groups: int, count: int) -> range:
    """Return the seeds of one of the groups into which `count` of them are dealt."""
    return range(FIRST + group, FIRST + count, groups)
