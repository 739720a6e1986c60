"""Many seeds on all cores: worlds know nothing of each other, so each core simulates its own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.sim.groups_simulation import run

CHUNK = 50
"""The number of seeds that one process simulates before it reports: a second's work."""


class BrokenWorld(Exception):
    """A seed whose world broke an invariant; the cause is the invariant."""

    def __init__(self, seed: int, problem: str) -> None:
        super().__init__(seed, problem)

    def __str__(self) -> str:
        seed, problem = self.args
        again = f"KAWAL_SIM_FIRST={seed} KAWAL_SIM_SEEDS=1 pytest tests/sim/test_groups_simulation.py"
        return f"seed {seed}: {problem}\nto repeat it: {again}"


def run_seeds(first: int, count: int) -> Counter[str]:
    """Simulate seeds one after the other; return what happened in all of them. Raises: BrokenWorld."""
    happened: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            happened += run(seed).happened()
        except Exception as error:
            raise BrokenWorld(seed, f"{type(error).__name__}: {error}") from error
    return happened


def run_on_all_cores(first: int, count: int) -> Counter[str]:
    """Simulate seeds on all cores; report the first that breaks. Raises: BrokenWorld."""
    cores = min(os.cpu_count() or 1, -(-count // CHUNK))
    if cores == 1:
        return run_seeds(first, count)
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        chunks = list(_chunks(first, count))
        try:
            return sum(pool.map(run_seeds, *zip(*chunks, strict=True)), Counter[str]())
        except BrokenWorld:
            pool.shutdown(cancel_futures=True)
            raise


def _chunks(first: int, count: int) -> Iterator[tuple[int, int]]:
    for start in range(first, first + count, CHUNK):
        yield start, min(CHUNK, first + count - start)
