"""Making a long answer a slice at a time, so that the other clients are served in between.

A request may name 50,000 partitions; a handler that worked through them in one go would stop all clients for
a second.  Such a handler returns a generator instead of a response: it yields after a few milliseconds of
work and returns the response (or PARKED) at its end.  Encoding a large response cannot be split: a thread
does it.

    handle(broker, call) -> response                       few items
                         -> generator: yield ... return response    many items

A step should take well under a millisecond: the scheduler runs steps until its share of the turn is used up.

What a generator reads may have changed by the time it is resumed; what it keeps must be its own.
scheduler.py runs the slices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence, Sized
from heapq import merge
from itertools import islice
from typing import Any, Final, TypeVar

ITEMS_PER_SLICE: Final = 500
"""The partitions or topics that a handler takes without a pause, if each needs a few microseconds."""

ITEMS_PER_STEP: Final = 25
"""The items handled between two looks at the time."""

PLAIN_ITEMS_PER_STEP: Final = 500
"""The same for items of which only a field is looked at."""

STEPS_AT_ONCE: Final = 4
"""The steps that `begun` takes without a pause: they have the size of a step, so about 1 ms."""

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Group = TypeVar("Group")
Made = TypeVar("Made")
Finished = TypeVar("Finished")


class Pace:
    """Counts what steps handle, and says when a step's worth is done."""

    __slots__ = ("_done", "_per_step")

    def __init__(self, per_step: int = ITEMS_PER_STEP) -> None:
        self._done = 0
        self._per_step = per_step

    def due(self, count: int = 1) -> bool:
        """Count items, and return True if it is time for a pause."""
        self._done += count
        if self._done < self._per_step:
            return False
        self._done = 0
        return True


class Until:
    """Yielded by steps that go on when something has happened, and need no slices until then."""

    __slots__ = ("here", "start")

    def __init__(
        self, start: Callable[[Callable[[], None]], None], here: Callable[[], None] | None = None
    ) -> None:
        """`start(resume)` begins what is waited for; `resume()` is called once, at its end.

        `here()` does it on the spot instead, for those that cannot wait; None if that is impossible.
        """
        self.start = start
        self.here = here


Steps = Generator[None, None, Any]
"""Steps that only give others their turn."""

WaitingSteps = Generator[Until | None, None, Any]
"""Steps that may also wait."""

Offload = Callable[[Callable[[], object], Callable[[Exception | None], None]], None]
"""Runs its first argument in a thread and then the second, with the error, on the event loop."""


def run_here(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
    """Do the work without a thread, as a simulation wants it."""
    error: Exception | None = None
    try:
        work()
    except Exception as failure:  # noqa: BLE001  (as in a thread)
        error = failure
    done(error)


def in_slices(steps: WaitingSteps, count: int, *, per_slice: int = ITEMS_PER_SLICE) -> Any:
    """Return the response of steps that handle few items, or the steps of many.

    Steps that must wait are returned as well, however few items they handle.
    """
    if count > per_slice:
        return steps
    try:
        while (waits := next(steps)) is None:
            continue
    except StopIteration as end:
        return end.value
    return after_pause(waits, steps)


def begun(steps: WaitingSteps) -> Any:
    """Return the response of steps if a few of them make it, or the rest of the steps.

    For steps whose number is not known beforehand.
    """
    try:
        for _ in range(STEPS_AT_ONCE):
            if (waits := next(steps)) is not None:
                return after_pause(waits, steps)
    except StopIteration as end:
        return end.value
    return steps


def after_pause(pause: Until | None, steps: WaitingSteps) -> WaitingSteps:
    """Return the rest of steps that have come to a pause, that pause included."""
    yield pause
    return (yield from steps)


def size_of(
    groups: Iterable[Group], items_of: Callable[[Group], Sized | None], *, enough: int = ITEMS_PER_SLICE
) -> int:
    """Return the number of items in groups, such as topics; one without items counts as one.

    Of very many it is a number above `enough`.
    """
    count = 0
    for group in groups:
        count += len(items_of(group) or ()) or 1
        if count > enough:
            break
    return count


def at_once(steps: Generator[None, None, Made]) -> Made:
    """Return what the steps make, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def all_here(steps: WaitingSteps) -> Any:
    """Return what the steps return, without a pause; what they wait for is done here."""
    while True:
        try:
            waits = next(steps)
        except StopIteration as end:
            return end.value
        if waits is not None:
            assert waits.here is not None, "what these steps wait for can be done here"
            waits.here()


def in_thread(offload: Offload, work: Callable[[], Made]) -> Generator[Until, None, Made]:
    """Return what `work` returns, from a thread; an error that it raises is raised here."""
    made: list[Made] = []
    failed: list[Exception] = []

    def do_it() -> None:
        try:
            made.append(work())
        except Exception as error:  # noqa: BLE001  (raised below, where it is judged: it may be foreseen)
            failed.append(error)

    def start(resume: Callable[[], None]) -> None:
        def done(error: Exception | None) -> None:
            if error is not None:
                failed.append(error)
            resume()

        offload(do_it, done)

    yield Until(start, do_it)
    if failed:
        # Not one that these steps keep: it and their frame would refer to each other, and with them would
        # stay what the other frames of its traceback have, such as the 16 MiB of a batch that cannot be read.
        raise failed.pop()
    return made[0]


def taken_in_threads(offload: Offload, steps: Generator[None, None, Made]) -> Generator[Until, None, Made]:
    """Take each of the steps in a thread, and return what they return; an error is raised here.

    For steps in compiled code that lets others run, and may take long.
    """
    ended: list[Made] = []

    def take() -> None:
        try:
            next(steps)
        except StopIteration as end:
            ended.append(end.value)

    try:
        while not ended:
            yield from in_thread(offload, take)
    finally:
        steps.close()
    return ended[0]


def outcome_of(begin: Callable[[Callable[[Made], None]], None]) -> Generator[Until, None, Made]:
    """Begin a change, and return what it calls back with when done; do not wait if that is at once."""
    outcomes: list[Made] = []
    waiting: list[Callable[[], None]] = []

    def done(outcome: Made) -> None:
        outcomes.append(outcome)
        for resume in waiting:
            resume()

    def start(resume: Callable[[], None]) -> None:
        # It may have come while these steps waited for their turn.
        if outcomes:
            resume()
        else:
            waiting.append(resume)

    begin(done)
    if not outcomes:
        yield Until(start)
    return outcomes[0]


def or_again(steps: WaitingSteps, again: Callable[[], None]) -> WaitingSteps:
    """Do the steps of regular work; if they raise, have `again` arrange its next time, and raise on."""
    try:
        yield from steps
    except Exception:
        again()
        raise


def finished(response: object) -> Steps:
    """Return a response that is already made, but large: a thread encodes it."""
    yield from ()
    return response


def made_of(
    items: Iterable[Item], make: Callable[[Item], Made], *, per_step: int = ITEMS_PER_STEP
) -> Generator[None, None, list[Made]]:
    """Return what `make` returns for each of the items; yield after every `per_step` of them."""
    made: list[Made] = []
    for item in items:
        made.append(make(item))
        if not len(made) % per_step:
            yield
    return made


def tallied(keys: Iterable[Key]) -> Generator[None, None, Counter[Key]]:
    """Return how often each of the keys comes."""
    counts: Counter[Key] = Counter()
    remaining = iter(keys)
    while part := tuple(islice(remaining, PLAIN_ITEMS_PER_STEP)):
        counts.update(part)
        yield
    return counts


def made_by_group(
    groups: Iterable[Group],
    items_of: Callable[[Group], Iterable[Item]],
    make: Callable[[Group, Item], Made],
    finish: Callable[[Group, list[Made]], Finished],
    *,
    per_step: int = ITEMS_PER_STEP,
) -> Generator[None, None, list[Finished]]:
    """Return `finish(group, made)` for each group, such as a topic, `made` being those of its items.

    It yields after a step's worth of groups and items.
    """
    finished_groups: list[Finished] = []
    pace = Pace(per_step)
    for group in groups:
        made: list[Made] = []
        for item in items_of(group):
            made.append(make(group, item))
            if pace.due():
                yield
        finished_groups.append(finish(group, made))
        if pace.due():
            yield
    return finished_groups


def in_pairs(steps: WaitingSteps) -> WaitingSteps:
    """Run the steps with a pause only after every second one, for work that mostly takes one step."""
    while True:
        try:
            pause = next(steps)
            if pause is None:
                pause = next(steps)
        except StopIteration as end:
            return end.value
        yield pause


def pauses_told(
    steps: Generator[Item, None, Group], paused: Callable[[], None]
) -> Generator[Item, None, Group]:
    """Take steps, and call `paused()` before each pause between them."""
    while True:
        try:
            pause = next(steps)
        except StopIteration as end:
            found: Group = end.value
            return found
        paused()
        yield pause


def chunks(items: Sequence[Item], *, per_step: int = ITEMS_PER_STEP) -> Iterator[Sequence[Item]]:
    """Yield the items in parts that one step can handle."""
    for start in range(0, len(items), per_step):
        yield items[start : start + per_step]


def emptied_tables(tables: dict[Any, dict[Any, Any]]) -> Steps:
    """Empty dictionaries by key that are not needed any more, and what they are in."""
    pace = Pace(PLAIN_ITEMS_PER_STEP)
    while tables:
        table = tables.popitem()[1]
        if len(table) > PLAIN_ITEMS_PER_STEP:
            yield from emptied(table)
        if pace.due(len(table) + 1):
            yield


def emptied(*collections: dict[Any, Any] | list[Any] | set[Any]) -> Steps:
    """Empty collections that are not needed any more: at once, 100,000 items take 10 ms."""
    for items in collections:
        take = items.popitem if isinstance(items, dict) else items.pop
        while items:
            for _ in range(min(len(items), PLAIN_ITEMS_PER_STEP)):
                take()
            yield


def in_order(names: Iterable[str]) -> Generator[None, None, list[str]]:
    """Return each of the names once, sorted: at once, 50,000 take 15 ms."""
    remaining, parts = iter(names), list[list[str]]()
    while part := list(islice(remaining, PLAIN_ITEMS_PER_STEP)):
        parts.append(sorted(part))
        yield
    once: dict[str, None] = {}
    pace = Pace(PLAIN_ITEMS_PER_STEP)
    for name in merge(*parts):
        once[name] = None
        if pace.due():
            yield
    return list(once)
