"""Long answers are made a slice at a time, so that the other clients are served in between.

A request may name 50,000 partitions; a handler that works through them in one go stops everybody for a
second. Such a handler returns a generator instead of a response: it yields after a few milliseconds of work
and returns the response (or PARKED) at its end.  Encoding a large response cannot be cut: a thread does it.

    handle(broker, call) -> response                       few items
                         -> generator: yield ... return response    many items

Whatever a generator looks at may have changed when it goes on; what it keeps must be its own.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from broker.loop.call import PARKED, Call

logger = logging.getLogger("kawal.broker")

ITEMS_PER_SLICE: Final = 500
"""Partitions or topics handled before other work has its turn: 2 to 5 ms."""

SHARE_NS: Final = 3_000_000
"""How long slices may take of a turn of the event loop, but for the last one."""

Item = TypeVar("Item")
Made = TypeVar("Made")

Steps = Generator[None, None, Any]

Offload = Callable[[Callable[[], object], Callable[[BaseException | None], None]], None]
"""Runs its first argument in a thread and then the second, with the error, on the event loop."""


def run_here(work: Callable[[], object], done: Callable[[BaseException | None], None]) -> None:
    """Do the work without a thread, as a simulation wants it."""
    work()
    done(None)


def in_slices(steps: Steps, count: int, *, per_slice: int = ITEMS_PER_SLICE) -> Any:
    """What a handler returns whose steps handle so many items: the response of few, the steps of many."""
    if count > per_slice:
        return steps
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def finished(response: object) -> Steps:
    """A response that is there already and large: a thread encodes it."""
    yield from ()
    return response


def made_of(
    items: Iterable[Item], make: Callable[[Item], Made], *, per_slice: int = ITEMS_PER_SLICE
) -> Generator[None, None, list[Made]]:
    """What `make` returns for each of the items; yields after so many of them."""
    made: list[Made] = []
    for item in items:
        made.append(make(item))
        if not len(made) % per_slice:
            yield
    return made


def in_pairs(steps: Steps) -> Steps:
    """The same steps, with a rest after every second one only, where one step is all that most take."""
    while True:
        try:
            next(steps)
            next(steps)
        except StopIteration as end:
            return end.value
        yield


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items by as many as one slice should handle."""
    for start in range(0, len(items), ITEMS_PER_SLICE):
        yield items[start : start + ITEMS_PER_SLICE]


class Slices:
    """The long answers in the making; each gets a slice in turn."""

    def __init__(self, failed: Callable[[Call[Any]], None]) -> None:
        """`failed(call)` is called inside the handler of an exception that a generator raised."""
        self.offload: Offload = run_here
        self._failed = failed
        self._waiting: deque[tuple[Call[Any] | None, Steps]] = deque()

    @property
    def pending(self) -> bool:
        """True while `run` has something to do."""
        return bool(self._waiting)

    def begin(self, call: Call[Any], steps: Steps) -> None:
        """Answer the call by and by; the first slice is run now, unless others wait for theirs."""
        self._waiting.append((call, steps))
        if len(self._waiting) == 1:
            self.run()

    def add_work(self, steps: Steps) -> None:
        """Do work that answers nobody, a slice at a time beside the answers."""
        self._waiting.append((None, steps))

    def run_some(self, clock_ns: Callable[[], int]) -> None:
        """Run the next slice of each that waits, as long as there is time."""
        ends_ns = clock_ns() + SHARE_NS
        for _ in range(len(self._waiting)):
            self.run()
            if clock_ns() >= ends_ns:
                return

    def run(self) -> None:
        """Run the next slice, if there is one."""
        if not self._waiting:
            return
        call, steps = self._waiting.popleft()
        if call is None:
            self._run_work(steps)
            return
        if call.connection.closed:
            steps.close()
            return
        try:
            next(steps)
        except StopIteration as end:
            if end.value is not PARKED:
                call.connection.answer_in_thread(call, end.value, self.offload)
        except Exception:  # noqa: BLE001  (it ends the connection)
            self._failed(call)
        else:
            self._waiting.append((call, steps))

    def _run_work(self, steps: Steps) -> None:
        try:
            next(steps)
        except StopIteration:
            return
        except Exception:
            # Our own bug; whoever waits for the work has a deadline.
            logger.exception("work in the background failed")
            return
        self._waiting.append((None, steps))
