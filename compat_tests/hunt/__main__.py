"""Hunt for some minutes, in pieces: `python -m compat_tests.hunt --minutes 10 --directory DIR`.

Each piece has a seed of its own, made of `--seed` and its number, an empty data directory and other settings.
The directory keeps the sums in `hunt.json`, so that a hunt that is started again goes on with the next piece,
and for each piece with problems its findings: texts, the bytes sent, the server's log and its data.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from compat_tests.hunt.actors import ACTORS
from compat_tests.hunt.pieces import Piece, Verdict
from compat_tests.hunt.replay import replay
from compat_tests.object_store import BUCKET, object_store


def main() -> int:
    """Hunt; return exit code 1 when something was found."""
    options = _options()
    if options.replay:
        return replay(options.replay, options.port)
    directory = options.directory or Path(tempfile.mkdtemp(prefix="kawal-hunt-"))
    directory.mkdir(parents=True, exist_ok=True)
    sums = _load(directory / "hunt.json", options.seed)
    _tell(f"findings and sums are in {directory}; seed {sums['seed']}, next piece {sums['pieces'] + 1}")
    ends_at = time.monotonic() + 60 * options.minutes
    found = 0
    stored: AbstractContextManager[dict[str, str]] = _stored(directory) if options.store else nullcontext({})
    with stored as store:
        while (left := ends_at - time.monotonic()) > 0:
            seconds = max(6.0, min(options.piece_seconds, left))
            seed = f"{sums['seed']}-{sums['pieces'] + 1}"
            folder = directory / f"piece-{seed}"
            piece = Piece(seed, folder, options.only, _tell, store, workers=options.workers)
            began = time.monotonic()
            verdict = piece.run(seconds)
            _add(sums, verdict, time.monotonic() - began)
            (directory / "hunt.json").write_text(json.dumps(sums, indent=1))
            _tell(_line(sums, verdict))
            found += len(verdict.problems)
            if not verdict.problems:
                shutil.rmtree(piece.directory)
            elif options.stop_at_first:
                break
    _tell(_summary(sums))
    return 1 if found else 0


@contextmanager
def _stored(directory: Path) -> Iterator[dict[str, str]]:
    """Run an object store for the block; yield the settings with which a server copies its logs there."""
    folder = Path(tempfile.mkdtemp(prefix="store-", dir=directory))
    try:
        with object_store(folder / "data") as store:
            yield {
                "kawal.remote.store": f"s3://{BUCKET}/hunt",
                "kawal.remote.endpoint": store.endpoint,
                "kawal.remote.lag.ms": "500",
            }
    finally:
        shutil.rmtree(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m compat_tests.hunt", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path, help="default: a new temporary one")
    parser.add_argument("--piece-seconds", type=float, default=60.0, help="time on one server")
    parser.add_argument("--only", nargs="*", default=[], choices=list(ACTORS), metavar="ACTOR")
    parser.add_argument("--store", action="store_true", help="copy the servers' logs to an object store, too")
    parser.add_argument("--workers", type=int, default=1, help="processes of each server; default 1")
    parser.add_argument("--stop-at-first", action="store_true", help="stop after a piece with problems")
    parser.add_argument("--replay", type=Path, metavar="FINDING.bin", help="send its bytes again")
    parser.add_argument("--port", type=int, default=0, help="where to: a running server; 0: one of its own")
    return parser.parse_args()


def _load(path: Path, seed: int) -> dict[str, Any]:
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    names = ("pieces", "seconds", "requests", "bytes", "connections", "starts", "memory_mib")
    return {"seed": seed, **dict.fromkeys(names, 0), "sent": {}, "turns": {}, "problems": []}


def _add(sums: dict[str, Any], verdict: Verdict, seconds: float) -> None:
    sums["pieces"] += 1
    sums["seconds"] += seconds
    for name in ("requests", "bytes", "connections", "starts"):
        sums[name] += getattr(verdict, name)
    sums["memory_mib"] = max(sums["memory_mib"], verdict.memory_mib)
    for work, turn in verdict.turns.items():
        sums["turns"][work] = max(list(turn), sums["turns"].get(work, [0]))
    sums["sent"] = dict(Counter(sums["sent"]) + verdict.sent)
    sums["problems"] += [f"{verdict.seed}: {problem}" for problem in verdict.problems]


def _line(sums: dict[str, Any], verdict: Verdict) -> str:
    longest = max((turn.cpu_ms for turn in verdict.turns.values()), default=0)
    return (
        f"{sums['seconds'] / 60:6.1f} min  piece {verdict.seed}: {verdict.requests} requests,"
        f" {verdict.bytes >> 20} MiB, {verdict.connections} connections, {verdict.starts} starts;"
        f" memory {verdict.memory_mib:.0f} MiB beside {', '.join(verdict.at_peak)}, turn {longest:.0f} ms,"
        f" worst {verdict.worst_ms:.0f} ms, {len(verdict.problems)} problems"
    )


def _summary(sums: dict[str, Any]) -> str:
    turns = sorted(sums["turns"].values(), reverse=True)
    rows = [f"    {cpu_ms} ms by {work}: {place}" for cpu_ms, work, place, _ in turns]
    return "\n".join(
        [
            f"in all {sums['seconds'] / 60:.1f} minutes, {sums['pieces']} pieces,"
            f" {sums['requests']} requests of {len(sums['sent'])} APIs, {sums['bytes'] >> 20} MiB,"
            f" {sums['starts']} starts;"
            f" most memory {sums['memory_mib']:.0f} MiB; {len(sums['problems'])} problems;"
            f" turns above 20 ms of processor, the longest of each kind of work:",
            *rows,
        ]
    )


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
