"""A real server on a damaged store: it comes up with the rest, is killed, comes up again, and is repaired.

    python -m reliability damaged --dose 60 --seed 7

The store is that of tests/sim/full_store.py: groups, ids of messages, named producers, a split partition,
transactions. It is damaged in one place, chosen at random, and written to a real file system. `kawal serve`
is started on it. What its clients are told must be what a server in this process tells, which is judged: the
fact of before, or that it is not known; or the server refuses to start with a sentence. Nowhere may there be
a traceback. Then it is killed, started again and asked again; what was told is repaired with `kawal wal
repair --accept-loss`, and the server must start on the result, tell nothing untrue and take records.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, cast

from compat_tests.broker import HOST, free_port
from compat_tests.kawal_broker import KAWAL, READY
from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from tests.broker.gateway import Client
from tests.sim.damage import End, write_out
from tests.sim.damage_states import DamageStates, State
from tests.sim.damage_trial import ENDS
from tests.sim.full_store import (
    FullStore,
    Verdict,
    facts_of,
    full_repair,
    full_verdicts,
    judge_repaired,
    judged,
    made_full,
)

SETTINGS: Final[Mapping[str, str]] = {
    "kawal.vnodes": "2",
    "kawal.segment.bytes": str(1 << 20),
    "kawal.min.free.bytes": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "kawal.console.listeners": "none",
}
"""Those of the store, but for the size of new segments, which has a least one here."""

STARTS: Final = 2
"""The starts on each damaged store: after the first one the server is killed."""

START_SECONDS: Final = 120
ASKING_SECONDS: Final = 30
"""The time in which coordinators are loaded, so that what is not known then is not known at all."""

TRACEBACK: Final = "Traceback (most recent call last)"


class Place(NamedTuple):
    """The directory of a trial, and the address of its servers."""

    directory: Path
    port: int

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.directory / "data"


def try_states(directory: Path, *, seed: int, dose: int) -> tuple[dict[str, Any], list[str]]:
    """Try so many states, chosen by the seed; return the outcomes, and what was found."""
    chance = Random(seed)
    start_ms = int(time.time() * 1_000)
    stores = {end: made_full(end, start_ms) for end in ENDS}
    outcomes: Counter[str] = Counter()
    found: list[str] = []
    for number in range(dose):
        end: End = ENDS[number % len(ENDS)]
        states = DamageStates(stores[end])
        state = states[chosen(chance, states)]
        place = Place(directory / str(number), free_port())
        try:
            outcomes[try_state(stores[end], state, place, start_ms)] += 1
            shutil.rmtree(place.directory)
        except AssertionError as error:
            found.append(f"{end}, {state.what}: {error} ({place.directory})")
    return {"states": dose, "starts": STARTS * dose, **outcomes}, found


def chosen(chance: Random, states: DamageStates) -> int:
    """Return the number of a state: half of them of sectors and files, which are few among all bits."""
    return chance.randrange(states.wide if chance.random() < 0.5 else len(states))


def try_state(store: FullStore, state: State, place: Place, start_ms: int) -> str:
    """Try a damage state; return what came of it.

    Raises: AssertionError, when a server is silent about something, writes a traceback, or does not start.
    """
    disk = state.disk()
    write_out(disk, place.data)
    verdicts = list(islice(full_verdicts(disk, store.expected, start_ms), STARTS))
    for verdict in verdicts:
        ask_damaged(store, verdict, place)
    verdict = verdicts[0]
    if verdict.outcome == "as it was":
        return verdict.outcome
    wanted = full_repair(disk, store.expected, damaged=state.what, start_ms=start_ms)
    _repair(place)
    server = _start(place)
    try:
        if not wanted.startswith("repaired"):
            assert server is None, f"a server started on a store that is {wanted}"
            return f"{verdict.outcome}, {wanted}"
        assert server is not None, f"no server starts after the repair: {_said(place)}"
        if wanted == "repaired":
            with raw_client(place) as client:
                judge_repaired(cast("Client", client), store.expected)
    finally:
        _kill(server, place)
    return f"{verdict.outcome}, {wanted}"


def ask_damaged(store: FullStore, verdict: Verdict, place: Place) -> None:
    """Start a server on the store, compare what it tells, and kill it.  Raises: AssertionError."""
    server = _start(place)
    try:
        if verdict.outcome == "refused":
            assert server is None, "the server started on what must be refused"
            return
        assert server is not None, f"the server does not start: {_said(place)}"
        with raw_client(place) as client:

            def told() -> str:
                # A raw client has the one method that is used: `call`.
                found = facts_of(cast("Client", client), store.expected)
                return judged(found, store.expected, verdict.damaged)

            eventually(
                lambda: told() == verdict.outcome,
                waiting_for=f"the server to tell that it is {verdict.outcome}",
                within_seconds=ASKING_SECONDS,
                last=told,
            )
    finally:
        _kill(server, place)


def _start(place: Place) -> ServerProcess | None:
    """Start a server and wait; None when it refuses to start, which it does with a sentence."""
    address = f"{HOST}:{place.port}"
    command = [KAWAL, "serve", "--listen", address, "--data", str(place.data), "--http", "none"]
    for name, value in SETTINGS.items():
        command += ["--set", f"{name}={value}"]
    server = ServerProcess(command, log_path=_log(place), environment={})
    eventually(
        lambda: server.exit_code is not None or READY in server.output(),
        waiting_for="the server to be ready or to refuse",
        within_seconds=START_SECONDS,
    )
    if server.exit_code is None:
        return server
    assert server.exit_code > 0, f"the server ended by signal {-server.exit_code}"
    assert server.output().strip(), "the server ended without a word"
    assert TRACEBACK not in server.output(), server.tail()
    return None


def _kill(server: ServerProcess | None, place: Place) -> None:
    if server is not None:
        server.kill()
    assert TRACEBACK not in _said(place), _said(place)


def _repair(place: Place) -> None:
    done = subprocess.run(
        [KAWAL, "wal", "repair", str(place.data), "--accept-loss"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert TRACEBACK not in done.stderr, done.stderr


def _log(place: Place) -> Path:
    return place.directory / "server.log"


def _said(place: Place) -> str:
    """Return the end of all that servers have said there."""
    return _log(place).read_text(errors="replace")[-3_000:]
