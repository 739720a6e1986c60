"""Making a long answer a slice at a time, so that the other clients are served in between.

A request may name 50,000 partitions; a handler that works through them in one go stops all clients for a
second.  Such a handler returns a generator instead of a response: it yields after a few milliseconds of work
and returns the response (or PARKED) at its end.  Encoding a large response cannot be cut: a thread does it.

    handle(broker, call) -> response                       few items
                         -> generator: yield ... return response    many items

What a generator looks at may have changed when it goes on; what it keeps must be its own.  scheduler.py runs
the slices.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

ITEMS_PER_SLICE: Final = 500
"""Partitions or topics handled before other work has its turn: 2 to 5 ms."""

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


def chunks(items: Sequence[Item], *, per_slice: int = ITEMS_PER_SLICE) -> Iterator[Sequence[Item]]:
    """Yield the items by as many as one slice should handle."""
    for start in range(0, len(items), per_slice):
        yield items[start : start + per_slice]
