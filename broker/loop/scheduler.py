"""The scheduler: long work runs a slice at a time, so that the other clients are served in between.

Work is a generator that yields after a few milliseconds (slices.py); each gets a slice in turn.  Short pieces
that only finish what a turn had no time for, such as an answer that is made already, do not queue up with it:
with 80 long answers in progress, a round takes half a second.

    first    short pieces left over from the last turn      before all others, each turn
    waiting  generators, one slice at a time                at least one each turn, then by time
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from broker.loop.call import PARKED, Call
from broker.loop.internal_errors import ErrorPlace, InternalErrors
from broker.loop.slices import Offload, Steps, WaitingSteps, run_here
from broker.loop.turns import Turns


def _once(action: Callable[[], None]) -> Steps:
    action()
    yield from ()


class Scheduler:
    """The long answers in progress; each gets a slice in turn."""

    def __init__(
        self,
        failed: Callable[[Call[Any], Exception], None],
        errors: InternalErrors,
        offload: Offload = run_here,
        turns: Turns | None = None,
    ) -> None:
        """`failed(call, error)` ends a call whose generator has raised; `offload` runs work in a thread.

        Slices are counted in `turns`.
        """
        self.offload = offload
        self._failed = failed
        self._errors = errors
        self._turns = turns or Turns()
        self._waiting: deque[tuple[Call[Any] | None, WaitingSteps]] = deque()
        self._first: deque[Callable[[], None]] = deque()

    @property
    def pending(self) -> bool:
        """True while `run` has something to do."""
        return bool(self._waiting or self._first)

    def waiting(self) -> Counter[str]:
        """Return the number of generators that wait for a slice, by the kind of work; any thread may ask."""
        background = self._turns.background
        found = Counter((call or background).work.name for call, _ in tuple(self._waiting))
        found[background.name] += len(self._first)
        return +found

    def begin(self, call: Call[Any], steps: WaitingSteps) -> None:
        """Answer the call a slice at a time; the first slice runs now, unless others wait for theirs."""
        self._waiting.append((call, steps))
        if len(self._waiting) == 1:
            self._run_slice(charges=False)  # it is a part of serving the client

    def add_work(self, steps: WaitingSteps) -> None:
        """Do work in the background, a slice at a time beside the answers."""
        self._waiting.append((None, steps))

    def soon(self, action: Callable[[], None]) -> None:
        """Do a short piece of work in a slice of its own, once others have had their turn."""
        self.add_work(_once(action))

    def first(self, action: Callable[[], None]) -> None:
        """Finish a short piece of work for which this turn has no time, before all that waits."""
        self._first.append(action)

    def run_some(self, clock_ns: Callable[[], int], share_ns: int) -> None:
        """Run what comes first, then slices in turn, for so long; the last one may exceed it.

        However much comes first, one slice is run: long work goes on.
        """
        ends_ns = clock_ns() + share_ns
        for _ in range(len(self._first)):
            self._run_first()
            if clock_ns() >= ends_ns:
                break
        while self._waiting:
            self._run_slice()
            if clock_ns() >= ends_ns:
                return

    def run(self) -> None:
        """Run the next piece of work, if there is one."""
        if self._first:
            self._run_first()
        elif self._waiting:
            self._run_slice()

    def _run_first(self) -> None:
        action = self._first.popleft()
        before = self._turns.enter(self._turns.background)
        with self._errors.net(ErrorPlace.BACKGROUND, "a short piece of work is over"):
            action()
        self._turns.leave(before)

    def _run_slice(self, *, charges: bool = True) -> None:
        """Run the next slice; if it `charges`, its client is told from those that ask for little."""
        call, steps = self._waiting.popleft()
        if call is not None and call.connection.closed:
            steps.close()
            return
        turns = self._turns
        before = turns.enter(call or turns.background)
        began_ns = turns.mark_ns
        self._run(call, steps)
        turns.leave(before)
        if call is not None and charges:
            call.connection.sliced_ns += turns.mark_ns - began_ns

    def _run(self, call: Call[Any] | None, steps: WaitingSteps) -> None:
        try:
            waits = next(steps)
        except StopIteration as end:
            if call is not None:
                self._answer(call, end.value)
        except Exception as error:  # noqa: BLE001  (the net)
            if call is not None:
                self._failed(call, error)
            else:
                self._errors.note(ErrorPlace.BACKGROUND, "background work is over", error)
        else:
            if waits is None:
                self._waiting.append((call, steps))
            else:
                waits.start(lambda: self._waiting.append((call, steps)))

    def _answer(self, call: Call[Any], response: object) -> None:
        if response is PARKED:
            call.connection.work_done(call)
        else:
            call.reply_in_thread(response, self.offload)
