"""All damage states of a small store, in samples that are spread evenly; each is noted in the ledger.

    python -m reliability.damage_states --seconds 3600

There are 1.4 million flipped bits and truncations, of about 4 ms of processor each, so they are tried a
sample at a time, at the lowest priority: every 397th state from the n-th on. Started again, it goes on with
samples that the ledger does not have, or has with a finding; `--share 1/2` and `--share 2/2` can run at the
same time. The exit code is 1 when a state was neither told nor harmless.

    python -m reliability.damage_states --full 9973

tries every 9,973rd of the 2.3 million states of a store with groups, ids of messages, named producers, splits
and transactions, of about 50 ms each where they are told; `--first N` has it begin with the N-th.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reliability import ledger
from tests.sim.damage import End, Made, made
from tests.sim.damage_states import DamageStates
from tests.sim.damage_trial import ENDS, try_all
from tests.sim.full_store import made_full, try_full

ROOT: Final = Path(__file__).parent.parent
RIG: Final = "damage-states"
FULL_RIG: Final = "damage-states-full"
STEP: Final = 397
"""The number of samples; the distance of a sample's states is a prime, so that bits and positions vary."""


def samples_left(lines: Iterable[str]) -> list[int]:
    """Return the numbers of the samples of which a ledger has no run without a finding."""
    runs = [json.loads(line) for line in lines]
    good = [run for run in runs if run["rig"] == RIG and not run["anomalies"]]
    tried = {run["seed"] for run in good if run["counts"]["step"] == STEP}
    return [number for number in range(STEP) if number not in tried]


def try_sample(stores: dict[End, Made], number: int, step: int = STEP) -> tuple[int, list[str]]:
    """Try a sample of each store; return the number of its states, and what was neither told nor harmless."""
    tried, wrong = 0, []
    for end, store in stores.items():
        states = DamageStates(store)
        for position in range(number, len(states), step):
            try:
                try_all(store, end, [states[position]])
            except AssertionError as error:
                wrong.append(str(error))
            tried += 1
    return tried, wrong


def try_full_stores(first: int, step: int, seconds: float) -> tuple[int, list[str]]:
    """Try every so many states of the store with all kinds of facts; return as `try_sample`."""
    tried = 0
    wrong: list[str] = []
    until = time.monotonic() + seconds
    for end in ENDS:
        store = made_full(end)
        states = DamageStates(store)
        for position in range(first, len(states), step):
            if time.monotonic() >= until:
                return tried, wrong
            try:
                try_full(store, states[position])
            except AssertionError as error:
                wrong.append(f"{end}, {error}")
            tried += 1
    return tried, wrong


def _note(path: Path, rig: str, number: int, step: int, states: int, wrong: list[str]) -> None:
    ledger.append(
        path,
        commit=ledger.commit_of(ROOT),
        rig=rig,
        seed=number,
        counts={"step": step, "states": states},
        anomalies={"not told": len(wrong)} if wrong else {},
    )


def share(text: str) -> tuple[int, int]:
    """Return the numbers of an argument K/N.

    Raises: argparse.ArgumentTypeError, for anything else.
    """
    run, slash, runs = text.partition("/")
    if not (slash and run.isdigit() and runs.isdigit() and 1 <= int(run) <= int(runs)):
        raise argparse.ArgumentTypeError(f"{text!r} is no K/N with K from 1 to N")
    return int(run), int(runs)


def main() -> int:
    """Try samples as long as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m reliability.damage_states", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="no sample begins after this time")
    parser.add_argument("--share", type=share, default=(1, 1), metavar="K/N", help="the K-th of N such runs")
    parser.add_argument("--full", type=int, default=0, metavar="STEP", help="try the full store instead")
    parser.add_argument("--first", type=int, default=0, help="with --full: the first state")
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER)
    options = parser.parse_args()
    os.nice(19)
    logging.disable()  # each state has its own report of damage
    if options.full:
        states, wrong = try_full_stores(options.first, options.full, options.seconds)
        print(f"{states} states of the full store told or harmless but {wrong}", flush=True)
        _note(options.ledger, FULL_RIG, options.first, options.full, states, wrong)
        return int(bool(wrong))
    stores = {end: made(end) for end in ENDS}
    until, failed = time.monotonic() + options.seconds, False
    lines = options.ledger.read_text().splitlines() if options.ledger.exists() else []
    run, runs = options.share
    for number in samples_left(lines)[run - 1 :: runs]:
        if time.monotonic() >= until:
            break
        states, wrong = try_sample(stores, number)
        failed |= bool(wrong)
        print(f"sample {number}: {states} states told or harmless but {wrong}", flush=True)
        _note(options.ledger, RIG, number, STEP, states, wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
