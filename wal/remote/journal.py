"""A process's journal: what its logs of durability `remote` have written, in the object store before the ack.

    WAITING --open(epoch)--> OPEN --an object of another process is met--> FENCED, for good

    add(commit)      a commit is on the disk
    begin()          chunks that can be sent now: whatever has come since the last one, of all logs together
    done(put)        a chunk is there, or not: the commits that count now, in the order of their chunks

There is no timer: a chunk is cut as soon as one of three requests is free, so a commit waits for a free one
and for its own, and while they take long chunks grow.  One journal for all logs of a process has the cost of
requests by process, and one order for all: a prefix of it holds whatever its records followed from.

An error of the store leaves a chunk where it is: the same bytes are sent to the same key until the outcome
is known, because those after it must not count without it.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from wal.disk_errors import DiskError, disk_error
from wal.jobs import CommitJob
from wal.objects import Fenced, ObjectStore, put_once
from wal.remote.formats import JournalMark
from wal.remote.journal_format import JournalHeader, JournalSlice, encode_journal, journal_key
from wal.segment import segment_name
from wal.unstored import NOTHING, FileSlice, LogPlace, end_of

IN_FLIGHT_MAX: Final = 3
"""Requests at once: enough to hide the time that one takes, and few to ask about after a crash."""
CHUNK_BYTES: Final = 8 << 20
"""A chunk takes no further commit beyond this; a larger one makes a chunk of its own."""


class JournalState(Enum):
    """The states; the module says what each means."""

    WAITING = "waiting"
    OPEN = "open"
    FENCED = "fenced"


class Commit(Protocol):
    """A commit of a log that is on the disk; `name` is the log's folder in the data directory."""

    @property
    def name(self) -> str:
        """The log."""

    @property
    def job(self) -> CommitJob:
        """The frame that was written."""

    def slices(self, since: LogPlace) -> list[FileSlice]:
        """Return the bytes of the log's files from a place to the end of the commit.  Raises: DiskError."""


class Companion(Protocol):
    """A log of which each chunk has all that counts: the catalogue, without which no record can be found."""

    @property
    def place(self) -> LogPlace:
        """The end of what counts."""

    def slices(self, since: LogPlace) -> list[FileSlice]:
        """Return the bytes of its files from a place to the end of what counts.  Raises: DiskError."""


CommitT = TypeVar("CommitT", bound=Commit)


class Put(Generic[CommitT]):
    """A chunk on its way; `run` is for a thread, and may be run again after an error."""

    def __init__(
        self,
        store: ObjectStore,
        key: str,
        header: JournalHeader,
        parts: list[FileSlice],
        commits: list[CommitT],
    ) -> None:
        self._store = store
        self._key = key
        self._header = header
        self._parts = parts
        self._data: bytes | None = None
        self.commits = commits
        self.is_stored = False
        self.size_bytes = sum(part.size_bytes for part in parts)
        self.began_ms = 0
        """The moment of its first try."""

    @property
    def number(self) -> int:
        """The number of the chunk."""
        return self._header.number

    def run(self) -> None:
        """Send it.

        Raises: Fenced; ObjectStoreError, and then it may be there all the same; DiskError, before it is sent.
        """
        if self._data is None:
            payload = b"".join(_read(part) for part in self._parts)
            self._data = encode_journal(self._header, payload)
        put_once(self._store, self._key, self._data)


def _read(part: FileSlice) -> bytes:
    """Return the bytes of a slice.  Raises: DiskError, also when there are fewer."""
    data = part.shared.file.read_at(part.position, part.size_bytes)
    if len(data) != part.size_bytes:
        raise disk_error("read", segment_name(part.base_version), errno.EIO)
    return data


class Journal(Generic[CommitT]):
    """The machine; the event loop alone calls it."""

    def __init__(
        self,
        store: ObjectStore,
        *,
        prefix: str,
        incarnation: str,
        logs: Callable[[], Collection[str]],
        companion: tuple[str, Companion] | None,
    ) -> None:
        """`prefix` is the cluster id; `logs` gives the folders of all logs.

        `companion` is the catalogue's log; None: another node has it.
        """
        self._store = store
        self._prefix = prefix
        self._incarnation = incarnation
        self._logs = logs
        self._companion = companion
        self._epoch = 0
        self._number = 0
        self._waiting: deque[CommitT] = deque()
        self._in_flight: deque[Put[CommitT]] = deque()
        self._places: dict[str, LogPlace] = {}
        """Up to where each log is in a chunk, or in a cut."""
        self._covered: frozenset[str] = frozenset()
        """The logs that the cut has."""
        self.state = JournalState.WAITING
        self.waiting_bytes = 0
        """The bytes of commits that do not count yet."""

    def add(self, commit: CommitT) -> None:
        """Take a commit that is on the disk."""
        self._waiting.append(commit)
        self.waiting_bytes += commit.job.size_bytes

    def open(self, epoch: int) -> None:
        """Begin to send: this process has taken over, and a cut has all up to the places of `covered`."""
        assert self.state is JournalState.WAITING
        self.state, self._epoch, self._number = JournalState.OPEN, epoch, 0

    @property
    def mark(self) -> JournalMark:
        """The first chunk whose commits do not all count yet."""
        first = self._in_flight[0].number if self._in_flight else self._number
        return JournalMark(self._epoch, first)

    @property
    def is_working(self) -> bool:
        """Whether there is something that a working store would take."""
        return self.state is JournalState.OPEN and bool(self._waiting or self._in_flight)

    @property
    def in_flight(self) -> Collection[Put[CommitT]]:
        """The chunks on their way, oldest first."""
        return self._in_flight

    def covered(self, places: Mapping[str, LogPlace]) -> None:
        """Learn of a cut that has all logs up to these places."""
        self._covered = frozenset(places)
        for name, place in places.items():
            self._places[name] = max(place, self._places.get(name, NOTHING))
        for name in self._places.keys() - places.keys() - set(self._logs()):
            del self._places[name]

    def begin(self) -> list[Put[CommitT]]:
        """Return the chunks that can be sent now.  Raises: DiskError when that is none."""
        begun = list[Put[CommitT]]()
        while self.state is JournalState.OPEN and self._waiting and len(self._in_flight) < IN_FLIGHT_MAX:
            try:
                put = self._cut()
            except DiskError:
                if not begun:
                    raise
                break  # those before it must be sent; it is met again when they are done
            begun.append(put)
            self._in_flight.append(put)
        return begun

    def _cut(self) -> Put[CommitT]:
        """Make the next chunk.  Raises: DiskError, and then nothing has changed."""
        commits, size_bytes = list[CommitT](), 0
        for commit in self._waiting:
            if commits and size_bytes + commit.job.size_bytes > CHUNK_BYTES:
                break
            commits.append(commit)
            size_bytes += commit.job.size_bytes
        newest = {commit.name: commit for commit in commits}
        places = {name: end_of(commit.job) for name, commit in newest.items()}
        found = {name: commit.slices(self._places.get(name, NOTHING)) for name, commit in newest.items()}
        if self._companion is not None:
            name, log = self._companion
            before = self._places.get(name, NOTHING)
            if name not in newest and log.place > before:
                places[name], found[name] = log.place, log.slices(before)
        parts = [part for parts in found.values() for part in parts]
        slices = [JournalSlice(name, *part[:4]) for name, parts in found.items() for part in parts]
        header = JournalHeader(
            epoch=self._epoch,
            number=self._number,
            incarnation=self._incarnation,
            slices=tuple(slices),
            logs=tuple(sorted(set(self._logs()) - self._covered)),
        )
        self._places |= places
        for _ in commits:
            self._waiting.popleft()
        self._number += 1
        return Put(self._store, journal_key(self._prefix, self._epoch, header.number), header, parts, commits)

    def forget(self, name: str) -> None:
        """Send nothing more of a log that was dropped, or has stopped."""
        left = [commit for commit in self._waiting if commit.name != name]
        self.waiting_bytes -= sum(commit.job.size_bytes for commit in self._waiting if commit.name == name)
        self._waiting = deque(left)
        self._places.pop(name, None)

    def stop(self) -> None:
        """Send nothing more: another process has taken over."""
        self.state = JournalState.FENCED
        self._waiting.clear()
        self.waiting_bytes = 0

    def done(self, put: Put[CommitT], error: Exception | None) -> list[CommitT]:
        """Learn how a chunk went; return the commits that count now.

        After an error other than Fenced it is to be run again.
        """
        if isinstance(error, Fenced):
            self.stop()
        if error is not None or self.state is JournalState.FENCED:
            return []
        put.is_stored = True
        counting = list[CommitT]()
        while self._in_flight and self._in_flight[0].is_stored:
            counting += self._in_flight.popleft().commits
        self.waiting_bytes -= sum(commit.job.size_bytes for commit in counting)
        return counting
