"""Records on their way to the disk, and what waits for them.

    an operation makes records --> Effects --driver appends--> in flight --+--durable--> its answers leave
                                                                           +--failed---> undone, error answers

Rules that this file keeps:
- The records of one Effects are one batch: after a crash all of them are there, or none.
- Group metadata changes when the records are made, so that the next request sees it; each change can be
  undone. Committed offsets change when their records are durable, so that no client reads an offset that a
  crash may undo.
- No answer shows what may still be lost: it waits for the newest Effects of its partition at the time it was
  made, even if it has no records of its own (Kafka's CoordinatorRuntime does the same).
- When an append fails, so does every later one of the same partition: the changes are undone, newest first,
  then everything that waited is answered with an error, oldest first.

The driver's part is in the docstring of `coordinator.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from protocol.error_codes import ErrorCode

Undo = Callable[[], None]
Done = Callable[[ErrorCode | None, int], None]
"""Called once with the time (ms), and None when everything before it is durable, or else the error."""

EncodedRecord = tuple[bytes, bytes | None]
"""Key and value as Kafka's schemas have them; a value of None is a tombstone."""


class Stamp(NamedTuple):
    """The producer whose transaction records are part of; they count when that is committed."""

    producer_id: int
    epoch: int


class EndMarker(NamedTuple):
    """The end of a producer's transaction in one partition."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    commit: bool


class StagedRecords(list[EncodedRecord]):
    """Records of a snapshot that are part of an open transaction."""

    __slots__ = ("stamp",)

    def __init__(self, stamp: Stamp, records: Iterable[EncodedRecord]) -> None:
        super().__init__(records)
        self.stamp = stamp


class Effects:
    """One batch for one partition: records, of a transaction if there is a stamp, or the end of one.

    `settled` becomes true when the outcome is known: an Effects that is settled before the driver appends it
    failed together with an earlier one, and must be dropped.
    """

    __slots__ = ("_undo", "_waiting", "partition", "records", "settled", "transaction")

    def __init__(
        self,
        partition: int,
        records: list[EncodedRecord],
        undo: list[Undo],
        done: Done,
        transaction: Stamp | EndMarker | None = None,
    ) -> None:
        self.partition = partition
        self.records = records
        self.transaction = transaction
        self.settled = False
        self._undo = undo
        self._waiting = [done]

    def wait(self, done: Done) -> None:
        """Call `done` after those that already wait."""
        self._waiting.append(done)

    def undo(self) -> None:
        """Undo the changes, the newest first."""
        for undo in reversed(self._undo):
            undo()

    def settle(self, error: ErrorCode | None, now_ms: int) -> None:
        """Tell all that wait about the outcome."""
        self.settled = True
        waiting, self._waiting, self._undo = self._waiting, [], []
        do_all(partial(done, error, now_ms) for done in waiting)


def do_all(actions: Iterable[Callable[[], None]]) -> None:
    """Do all of them: one that raises does not keep the others from what they wait for.

    Raises: the error, or an ExceptionGroup of several, at the end.
    """
    errors: list[Exception] = []
    for action in actions:
        try:
            action()
        except Exception as error:  # noqa: BLE001  (raised below)
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("several of those that waited for records", errors)


class Journal:
    """The Effects of all partitions that are not durable yet, in order."""

    __slots__ = ("_in_flight", "_unsent")

    def __init__(self) -> None:
        self._in_flight: dict[int, deque[Effects]] = {}
        self._unsent: list[Effects] = []

    def write(
        self,
        partition: int,
        records: list[EncodedRecord],
        undo: list[Undo],
        done: Done,
        transaction: Stamp | EndMarker | None = None,
    ) -> Effects:
        """Hand records to the driver; `undo` reverts what they have already changed."""
        effects = Effects(partition, records, undo, done, transaction)
        self._in_flight.setdefault(partition, deque()).append(effects)
        self._unsent.append(effects)
        return effects

    def after_writes(self, partition: int, done: Done, now_ms: int) -> None:
        """Call `done` when everything written so far is durable: at once if nothing is in flight."""
        in_flight = self._in_flight.get(partition)
        if in_flight:
            in_flight[-1].wait(done)
        else:
            done(None, now_ms)

    def in_flight(self, partition: int) -> bool:
        """Whether something written to the partition is not durable yet."""
        return bool(self._in_flight.get(partition))

    def take(self) -> list[Effects]:
        """Return what must be appended, in this order."""
        if not self._unsent:
            return []
        taken, self._unsent = self._unsent, []
        return taken

    def take_all(self) -> list[Effects]:
        """Return everything that is in flight, for its answers: its state is about to be dropped."""
        in_flight, self._in_flight, self._unsent = self._in_flight, {}, []
        return [effects for partition in in_flight.values() for effects in partition]

    def durable(self, effects: Effects, now_ms: int) -> None:
        """Settle everything up to `effects` in its partition: it is on the disk."""
        do_all(self._settling(effects, now_ms))

    def _settling(self, effects: Effects, now_ms: int) -> Iterator[Callable[[], None]]:
        while not effects.settled:
            yield partial(self._in_flight[effects.partition].popleft().settle, None, now_ms)

    def failed(self, effects: Effects, error: ErrorCode, now_ms: int) -> None:
        """Undo and settle `effects`, which could not be appended, and all that follows in its partition."""
        if effects.settled:
            return
        in_flight = self._in_flight[effects.partition]
        lost: deque[Effects] = deque()
        while effects not in lost:
            newest = in_flight.pop()
            newest.undo()
            lost.appendleft(newest)
        do_all(partial(lost_effects.settle, error, now_ms) for lost_effects in lost)

    def abandon(self, partitions: Iterable[int], error: ErrorCode, now_ms: int) -> None:
        """Answer all that waits for these partitions; their state is about to be dropped, not undone."""
        do_all(
            partial(effects.settle, error, now_ms)
            for partition in partitions
            for effects in self._in_flight.pop(partition, ())
        )
