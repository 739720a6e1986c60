"""A kit that finds crash bugs: record a run's effects on its disk, then let the power fail at every moment.

    disk = RecordingDisk()
    log = Log.open(disk, "orders")                   # anything written against wal.disk.Disk
    log.append(b"a"); log.sync(); disk.trace.mark("a")      # a mark: promised from here on

    def check(state: CrashState) -> None:            # recover, and compare with the promises before
        assert set(state.marks) <= set(Log.open(state.disk, "orders").records())

    count = check_every_crash(disk.trace, check)     # raises CrashBug, which names the state

For every prefix of the trace these states are tried; synced bytes always survive:

    dropped     none of the rest survives
    kept        all of it does
    names       directory entries survive, bytes do not: new files are empty
    bytes       bytes survive, directory entries do not
    grown       entries and sizes survive, bytes do not: files grown but zero
    random-<k>  every directory change kept or dropped; every write kept, dropped, grown but zero, cut short,
                or torn at 512-byte sectors; each on its own, so that later ones may overtake earlier ones

A prefix at which everything is durable gives one state, "settled". A state carries all marks before the
next effect: the most that can have been promised by then. States are cheap (bytes are shared until
written to), so that checking costs little more than recovery. They are ordinary disks: record one, and
crash the recovery too.

`killed_states` gives the other kind of crash: the process dies, and the page cache survives but is *not
durable*, so a recovery that trusts bytes without syncing them loses them to the next power cut.

The same trace and seed give the same states; `state_at` repeats one, from the values in the report.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from wal.memory_disk import MemoryDisk
from wal.memory_file import DROP, GROW, KEEP, Edit, Fate
from wal.memory_image import DROP_ALL, KEEP_ALL, Effect, Fates, Image, NameChange, Uniform

# The unit that disks write in one piece; torn writes are torn at its borders.
SECTOR_BYTES = 512

_UNIFORM: dict[str, Fates] = {
    "dropped": DROP_ALL,
    "kept": KEEP_ALL,
    "names": Uniform(DROP, names=True),
    "bytes": Uniform(KEEP, names=False),
    "grown": Uniform(GROW, names=True),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A promise to the outside, at its place in the trace."""

    value: Hashable


@dataclass(slots=True)
class Trace:
    """The effects on a disk, in order, from a known start."""

    start: Image
    events: list[Effect | Mark] = field(default_factory=list)

    def mark(self, value: Hashable) -> None:
        """Record a promise: every later crash state carries it."""
        self.events.append(Mark(value))


class RecordingDisk(MemoryDisk):
    """A MemoryDisk that records everything that changes it; it starts empty, or as a copy of another disk."""

    def __init__(self, start: MemoryDisk | None = None, *, capacity_bytes: int | None = None) -> None:
        image = Image() if start is None else start.image.copy()
        super().__init__(image=image, capacity_bytes=capacity_bytes)
        self.trace = Trace(image.copy())
        self.observe = self.trace.events.append


@dataclass(slots=True)
class CrashState:
    """A disk after a crash, the promises before it, and the values to get the same state again."""

    disk: MemoryDisk
    marks: tuple[Hashable, ...]
    prefix_length: int
    how: str
    seed: int

    def __str__(self) -> str:
        return f"state_at(trace, {self.prefix_length}, {self.how!r}, seed={self.seed})"


class CrashBug(AssertionError):
    """A check that failed on a crash state."""


class RandomFates:
    """Fates drawn from a seed; the overall share that survives is drawn first, so that extremes occur."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._share_kept = self._random.choice((0.1, 0.5, 0.9))

    def of_names(self, change: NameChange) -> bool:
        return self._random.random() < self._share_kept

    def of_edit(self, node: int, edit: Edit) -> Fate:
        if self._random.random() < self._share_kept:
            return KEEP
        match self._random.randrange(5):
            case 0 | 1:
                return DROP
            case 2:
                return GROW
            case 3:
                return Fate(((0, self._random.randrange(len(edit.after) + 1)),), sized=False)
            case _:
                return Fate(tuple(self._torn(edit)), sized=self._random.random() < 0.5)

    def _torn(self, edit: Edit) -> Iterator[tuple[int, int]]:
        """Yield the sectors of the edit that survive; sectors are counted from the file's beginning."""
        start, size = 0, len(edit.after)
        while start < size:
            end = min(size, start + SECTOR_BYTES - (edit.position + start) % SECTOR_BYTES)
            if self._random.random() < 0.5:
                yield start, end
            start = end


def crash_states(trace: Trace, *, random_states: int = 4, seed: int = 0) -> Iterator[CrashState]:
    """Yield every prefix of the trace, crashed in every way; `random_states` per prefix are random."""
    hows = (*_UNIFORM, *(f"random-{number}" for number in range(random_states)))
    for prefix_length, image, marks in _prefixes(trace):
        for how in ("settled",) if image.is_settled() else hows:
            fates = _fates(prefix_length, how, seed)
            yield CrashState(MemoryDisk(image=image.crash(fates)), marks, prefix_length, how, seed)


def killed_states(trace: Trace) -> Iterator[CrashState]:
    """Yield every prefix of the trace with the process dead and the page cache alive, where that differs."""
    for prefix_length, image, marks in _prefixes(trace):
        if not image.is_settled():
            yield CrashState(MemoryDisk(image=image.copy()), marks, prefix_length, "killed", 0)


def state_at(trace: Trace, prefix_length: int, how: str, *, seed: int = 0) -> CrashState:
    """Return one state again, from its values."""
    for length, image, marks in _prefixes(trace):
        if length == prefix_length:
            after = image.copy() if how == "killed" else image.crash(_fates(length, how, seed))
            return CrashState(MemoryDisk(image=after), marks, length, how, seed)
    raise ValueError(f"no crash state after {prefix_length} of the trace's {len(trace.events)} events")


def check_every_crash(
    trace: Trace, check: Callable[[CrashState], None], *, random_states: int = 4, seed: int = 0
) -> int:
    """Run a check on every crash state and return their number.

    Raises: CrashBug from the check's own exception, naming the state.
    """
    count = 0
    for state in crash_states(trace, random_states=random_states, seed=seed):
        count += 1
        try:
            check(state)
        except Exception as error:
            raise CrashBug(f"{state} with marks {state.marks!r}: {error!r}") from error
    return count


def _prefixes(trace: Trace) -> Iterator[tuple[int, Image, tuple[Hashable, ...]]]:
    """Yield the length, disk and marks of each prefix that ends before an effect or at the end."""
    image = trace.start.copy()
    marks: tuple[Hashable, ...] = ()
    for position, event in enumerate(trace.events):
        if isinstance(event, Mark):
            marks = (*marks, event.value)
            continue
        yield position, image, marks
        image.apply(event)
    yield len(trace.events), image, marks


def _fates(prefix_length: int, how: str, seed: int) -> Fates:
    if how.startswith("random-"):
        return RandomFates(hash((seed, prefix_length, int(how.removeprefix("random-")))))
    return _UNIFORM["dropped" if how == "settled" else how]
