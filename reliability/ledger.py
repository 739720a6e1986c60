"""The ledger of doses: one JSON line for each run of a rig, never changed afterwards."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LEDGER = Path(__file__).with_name("ledger.jsonl")


def commit_of(directory: Path) -> str:
    """Return the commit of the checkout, with a plus when files differ from it."""
    git = ["git", "-C", str(directory)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    changes = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, check=True
    )
    changed = [line for line in changes.stdout.splitlines() if not line.endswith(LEDGER.name)]
    return name.stdout.strip() + ("+" if changed else "")


def append(
    path: Path, *, commit: str, rig: str, seed: int, counts: Mapping[str, Any], anomalies: Mapping[str, int]
) -> None:
    """Add a run."""
    line = {"commit": commit, "rig": rig, "seed": seed, "counts": dict(counts), "anomalies": dict(anomalies)}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def totals(lines: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the sums of a ledger's numbers by rig, with `runs` and `anomalies`."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in lines:
        run = json.loads(line)
        rig = sums[run["rig"]]
        rig["runs"] += 1
        rig["anomalies"] += sum(run["anomalies"].values())
        for name, count in run["counts"].items():
            if isinstance(count, int | float) and not name.endswith(("_max", "_p50")):
                rig[name] += count
    return {rig: dict(numbers) for rig, numbers in sums.items()}
