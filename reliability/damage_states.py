"""All damage states of a small store, in samples that are spread evenly; each is noted in the ledger.

    python -m reliability.damage_states --seconds 3600

There are 1.4 million flipped bits and truncations, of 6 to 9 ms of processor each, so they are tried a sample
at a time, at the lowest priority: every 397th state from the n-th on. Started again, it goes on with samples
that the ledger does not have. The exit code is 1 when a state was neither told nor harmless.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reliability import ledger

ROOT: Final = Path(__file__).parent.parent
RIG: Final = "damage-states"
TEST: Final = "tests/sim/test_damage_simulation.py"
STEP: Final = 397
"""The number of samples; the distance of a sample's states is a prime, so that bits and positions vary."""


def samples_left(lines: Iterable[str]) -> list[int]:
    """Return the numbers of the samples that a ledger does not have."""
    runs = [json.loads(line) for line in lines]
    tried = {run["seed"] for run in runs if run["rig"] == RIG and run["counts"]["step"] == STEP}
    return [number for number in range(STEP) if number not in tried]


def try_sample(number: int, counts: Path) -> tuple[int, str]:
    """Try a sample; return the number of its states, and what the tests said if one has failed."""
    settings = {"KAWAL_DAMAGE_STEP": STEP, "KAWAL_DAMAGE_FIRST": number, "KAWAL_DAMAGE_COUNTS": counts}
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", TEST]
    done = subprocess.run(
        [*pytest, "-k", "test_any_damage"],
        cwd=ROOT,
        env={**os.environ, **{name: str(value) for name, value in settings.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    states = sum(map(int, counts.read_text().split())) if counts.exists() else 0
    return states, "" if done.returncode == 0 else done.stdout + done.stderr


def main() -> int:
    """Try samples as long as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m reliability.damage_states", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="no sample begins after this time")
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER)
    options = parser.parse_args()
    os.nice(19)
    ends, failed = time.monotonic() + options.seconds, False
    lines = options.ledger.read_text().splitlines() if options.ledger.exists() else []
    for number in samples_left(lines):
        if time.monotonic() >= ends:
            break
        with tempfile.TemporaryDirectory(prefix="kawal-damage-") as directory:
            states, said = try_sample(number, Path(directory) / "counts")
        failed |= bool(said)
        print(f"sample {number}: {states} states {said or 'told or harmless'}", flush=True)
        ledger.append(
            options.ledger,
            commit=ledger.commit_of(ROOT),
            rig=RIG,
            seed=number,
            counts={"step": STEP, "states": states},
            anomalies={"not told": 1} if said else {},
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
