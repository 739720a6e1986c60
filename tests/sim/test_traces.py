"""One seed makes the same of every simulation in two processes with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.sim import traces
from tests.sim.traces import SIMULATIONS, digest

ROOT = Path(__file__).parents[2]


def digests(hash_seed: str) -> list[str]:
    """Return the lines that a process with this hash seed prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim.traces"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_same_seed_gives_the_same_trace_in_processes_with_different_hash_seeds() -> None:
    lines = digests("1")
    assert lines == digests("2")
    assert [line.split()[0] for line in lines] == list(SIMULATIONS)


def test_other_seeds_give_other_traces() -> None:
    assert digest("brokers", range(1, 2)) != digest("brokers", range(2, 3))


def test_no_simulation_is_left_out() -> None:
    source = Path(traces.__file__).read_text()
    for path in (ROOT / "tests" / "sim").glob("test_*_simulation.py"):
        name = path.stem.removeprefix("test_").removesuffix("_simulation")
        known = (path.stem, f"{name}_simulation", f"tests.sim.{name} import")
        assert any(word in source for word in known), path.stem
