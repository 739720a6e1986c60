"""Run a rig: `python -m reliability kill --dose 60 --seed 7`; the exit code is 1 when something was found.

    kill          SIGKILL at any moment, also during recovery         dose: kills
    kill-at-call  killed at the n-th call of a kind (strace)          dose: kills
    failing-calls calls fail now and then (strace)                    dose: times
    full-disk     a small tmpfs fills up and gets room again          dose: fillings
    pause         SIGSTOP, SIGCONT                                    dose: pauses
    clock         the wall clock jumps (libfaketime)                  dose: jumps
    network       a proxy delays, stalls, cuts and loses replies      dose: faults
    mixed         all of these in turn, at random                     dose: minutes
    failing-writeback  writes of the device fail (nbdkit)             dose: times
    bad-sectors   reads of the device fail at a start (nbdkit)        dose: starts
    memory        a cgroup takes memory away                          dose: squeezes
    power-loss    the power fails, on a logging block device          dose: power failures
    copies        transactional copiers and the server are killed     dose: messages
    damaged       a store with all kinds of facts, damaged, is served dose: damage states
    totals        the sums of the ledger

Each run has its own directory, which is kept when something was found, and adds a line to the ledger. A tool
that is missing is an error that names its package.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from reliability import ledger
from reliability.copying import SETTINGS, copy
from reliability.damaged_servers import try_states
from reliability.rigs import RIGS, Rig
from reliability.tools import ToolMissing
from reliability.world import World

COPIES, DAMAGED, TOTALS = "copies", "damaged", "totals"


def main() -> int:
    """Run what the arguments say."""
    options = _options()
    if options.rig == TOTALS:
        return _print_totals(options.ledger)
    directory = Path(tempfile.mkdtemp(prefix=f"kawal-{options.rig}-", dir=options.directory))
    try:
        found = run(
            options.rig,
            directory,
            seed=options.seed,
            dose=options.dose,
            ledger_path=options.ledger,
            programs=tuple(options.programs),
        )
    except ToolMissing as error:
        sys.stderr.write(f"{options.rig}: {error}\n")
        return 2
    if found:
        print(f"{found}\nhistory, log and data: {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


def run(
    rig: str, directory: Path, *, seed: int, dose: float, ledger_path: Path, programs: tuple[str, ...] = ()
) -> str:
    """Run one rig and note it in the ledger; return what was found, "" for nothing."""
    if rig == DAMAGED:
        return _damaged(directory, seed, int(dose), ledger_path)
    began = time.monotonic()
    chosen = Rig(copy) if rig == COPIES else RIGS[rig]
    with ExitStack() as stack:
        world = World(directory, seed)
        world.programs = programs
        chosen.prepare(world, stack)
        stack.callback(world.close)
        if rig == COPIES:
            world.settings |= SETTINGS
        world.start()
        if rig == COPIES:
            return _copies(world, dose, ledger_path)
        world.make_topics()
        world.start_clients()
        world.wait_for_acks(50)
        counts = chosen.breaking(world, dose)
        check = world.judge()
        counts |= {"acknowledged": check.counts["send-ok"], "records-read": check.counts["records-read"]}
        world.close()
        for name, found in chosen.afterwards(world, dose).items():
            check.anomalies[name] += found
    if programs:
        counts["programs"] = " ".join(programs)
    counts["seconds"] = round(time.monotonic() - began)
    ledger.append(
        ledger_path,
        commit=ledger.commit_of(Path(__file__).parent),
        rig=rig,
        seed=seed,
        counts=counts,
        anomalies=check.summary(),
    )
    print(f"{rig} seed {seed}: {counts} anomalies {check.summary() or 'none'}")
    return check.shown()


def _copies(world: World, dose: float, ledger_path: Path) -> str:
    began, found = time.monotonic(), ""
    counts: dict[str, Any] = {}
    try:
        counts = copy(world, dose)
    except AssertionError as error:
        found = str(error)
    counts["seconds"] = round(time.monotonic() - began)
    if world.programs:
        counts["programs"] = " ".join(world.programs)
    ledger.append(
        ledger_path,
        commit=ledger.commit_of(Path(__file__).parent),
        rig=COPIES,
        seed=world.seed,
        counts=counts,
        anomalies={"not exactly once": 1} if found else {},
    )
    print(f"{COPIES} seed {world.seed}: {counts} anomalies {found or 'none'}")
    return found


def _damaged(directory: Path, seed: int, dose: int, ledger_path: Path) -> str:
    began = time.monotonic()
    logging.disable()  # each state has its own report of damage
    counts, found = try_states(directory, seed=seed, dose=dose)
    counts["seconds"] = round(time.monotonic() - began)
    ledger.append(
        ledger_path,
        commit=ledger.commit_of(Path(__file__).parent),
        rig=DAMAGED,
        seed=seed,
        counts=counts,
        anomalies={"not told": len(found)} if found else {},
    )
    print(f"{DAMAGED} seed {seed}: {counts} anomalies {len(found) or 'none'}")
    return "\n".join(found)


def _print_totals(path: Path) -> int:
    for rig, sums in sorted(ledger.totals(path.read_text().splitlines()).items()):
        print(rig, {name: round(number) for name, number in sums.items()})
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reliability", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rig", choices=[*RIGS, COPIES, DAMAGED, TOTALS])
    parser.add_argument("--dose", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--programs",
        nargs="*",
        default=[],
        metavar="CLIENT",
        help="producers of compat_tests/clients: java",
    )
    parser.add_argument("--directory", type=Path, help="where runs make their directories")
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
