"""The common part of simulations of a whole broker: one step after another, as the seed chooses.

A scenario has a world, a table of what may happen in it and how often, and a trace of what did happen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import ClassVar, Self

from tests.sim.world import BREAKABLE, PowerCut, World

Step = Callable[[], str]
"""Something that happens; it returns what the trace says of it."""


class Scenario(ABC):
    """A world in which things happen; each kind adds what its clients do, and what must hold in the end."""

    ADVANCES_MS: ClassVar[Sequence[int]]
    """The times by which the clock moves."""
    ROOMS_BYTES: ClassVar[Sequence[int]] = (0, 1_000, 100_000)
    """The room that may be left on a disk that is filled."""
    CALLS_BEFORE_CUT_MAX = 40

    world: World

    def __init__(self, seed: int, *, steps: int) -> None:
        self.seed = seed
        self.steps = steps
        self.trace: list[str] = []
        self.chance = Random(seed)
        self._breakable: Sequence[str] = BREAKABLE
        self._table: list[tuple[float, Step]] = []

    def run(self) -> Self:
        """Let everything happen.  Raises: AssertionError, which names the seed, when a promise is broken."""
        try:
            self._play()
        except (Exception, PowerCut) as error:
            last = "\n  ".join(self.trace[-25:])
            raise AssertionError(f"seed {self.seed}: {error!r}\n  {last}") from error
        return self

    @abstractmethod
    def _play(self) -> None:
        """Do the steps, then let all come to rest and compare what is left with what was promised."""

    def _happen_by_chance(self) -> None:
        weights, steps = zip(*self._table, strict=True)
        for _ in range(self.steps):
            self._happen(self.chance.choices(steps, weights)[0])

    def _happen(self, step: Step) -> None:
        try:
            told = step()
        except PowerCut:
            told = f"{step.__name__} ends in a power cut"
            self._power_fails()
        self.trace.append(f"{self.world.now_ms} {told}")

    # --- what the world does ---------------------------------------------------------------------------

    def _work(self) -> str:
        """Do one step of the disk's work: begin what there is, let one job run, or hand one result back."""
        begun = self.world.begin_jobs()
        if not self.world.flights:
            return "no disk work"
        flight = self.chance.choice(self.world.flights)
        job = f"{flight.vnode.name} {type(flight.job).__name__}"
        if flight.ran:
            self.world.finish(flight)
            return f"begin {begun}, finish {job}"
        self.world.run(flight)
        return f"begin {begun}, run {job}: {flight.error}"

    def _advance(self) -> str:
        duration_ms = self.chance.choice(self.ADVANCES_MS)
        self.world.advance(duration_ms)
        return f"advance {duration_ms}"

    def _settle(self) -> str:
        self.world.settle()
        return "settle"

    def _exchange(self) -> str:
        """Let everything arrive, be done and be answered."""
        before = -1
        while (left := sum(len(link.outbox) for link in self.world.links)) != before:
            # A request that is answered in slices keeps the next one of its connection waiting.
            before = left
            for link in tuple(self.world.links):
                link.push(1 << 30)
            self.world.settle()
            self._look()
            for link in tuple(self.world.links):
                link.pull()
        return "exchange"

    def _look(self) -> None:
        """Look at the world between what is done and its answers, which may tell of it."""
        return

    def _push_some(self) -> str:
        """Let some of one client's bytes arrive."""
        links = [link for link in self.world.links if link.outbox]
        if not links:
            return "nothing to push"
        link = self.chance.choice(links)
        size = self.chance.choice((1, 50, 500, 100_000, 100_000, 100_000))
        link.push(size)
        return f"push {size} on {link.connection.identity}"

    def _pull_some(self) -> str:
        """Let one client read what was answered."""
        links = [
            link for link in self.world.links if link.connection.outgoing or link.connection.close_reason
        ]
        if not links:
            return "nothing to pull"
        link = self.chance.choice(links)
        link.pull()
        return f"pull on {link.connection.identity}, {len(link)} wait"

    def _hang_up(self) -> str:
        """End one client's connection."""
        if not self.world.links:
            return "no link to hang up"
        link = self.chance.choice(self.world.links)
        link.close()
        return f"{link.connection.identity} hangs up"

    # --- what breaks and dies --------------------------------------------------------------------------

    def _kill(self) -> str:
        self._crash(self.world.kill)
        return "kill"

    def _power_fails(self, again_after_calls: int | None = None) -> None:
        """Lose the power now, maybe once more during the next start, but not after it."""
        self._crash(partial(self.world.cut_power, again_after_calls=again_after_calls))
        self.world.calls_until_cut = None

    def _crash(self, how: Callable[[], None]) -> None:
        """Let the process or the machine end in this way, and start again."""
        how()

    def _cut_power_soon(self) -> str:
        self.world.calls_until_cut = self.chance.randrange(self.CALLS_BEFORE_CUT_MAX)
        return f"power fails in {self.world.calls_until_cut} calls"

    def _break(self) -> str:
        kind = self.chance.choice(self._breakable)
        self.world.break_next(kind)
        return f"break {kind}"

    def _break_for_long(self) -> str:
        # A read that fails for long is a bad sector: it is told as damage, which nothing here has.
        kind = self.chance.choice([kind for kind in self._breakable if kind != "read"])
        self.world.break_next(kind, for_long=True)
        return f"break {kind} for long"

    def _fill(self) -> str:
        room = self.chance.choice(self.ROOMS_BYTES)
        self.world.fill_disk(room)
        return f"fill the disk but for {room}"

    def _heal(self) -> str:
        self.world.heal_disk()
        return "heal"
