"""Members of groups, each polled in a thread of its own, as applications do, whatever their library.

kafka-python must not be polled in turns with others in one thread: a join that ends between two polls is
thrown away at the next one, which joins again (3.0.12: join_group_async makes a new join task when the last
one `is_done`, awaited or not). As leader it thereby begins a new rebalance, and other members that answer
only while they are polled make that end between two polls, for ever. With Apache Kafka it is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from compat_tests.libraries import Library, Place, Rebalancing, Seen
from compat_tests.waiting import eventually

T = TypeVar("T")


class Member:
    """A consumer with its thread: `records` is what it has got, `error` what went wrong.

    As a context manager it leaves the group at the end and raises what went wrong.
    """

    def __init__(self, make: Callable[[], Library], *, commits: bool = False) -> None:
        """Begin at once; with `commits` everything returned is committed before the next poll."""
        self.records: list[Seen] = []
        self.error: BaseException | None = None
        self._commits = commits
        self._owes_commit = False
        self._held: frozenset[Place] = frozenset()
        self._asked: SimpleQueue[tuple[Callable[[Any], Any], Future[Any]]] = SimpleQueue()
        self._stopping = threading.Event()
        self._polling = threading.Event()
        self._polling.set()
        self._thread = threading.Thread(target=self._run, args=[make], daemon=True)
        self._thread.start()

    def held(self) -> set[Place]:
        """Return what it held after its last poll."""
        self.check()
        return set(self._held)

    def partitions(self) -> list[int]:
        """Return the numbers of the partitions it holds, in order."""
        return sorted(partition for _, partition in self.held())

    def call(self, function: Callable[[Library], T]) -> T:
        """Call a function with the consumer between two polls and return its answer."""
        done: Future[T] = Future()
        self._asked.put((function, done))
        return self._answer(done)

    def commit(self) -> None:
        """Commit everything in `records`."""
        self.call(lambda library: library.commit())

    def values(self) -> list[bytes]:
        """Return the values of all records so far, in the order of their arrival."""
        self.check()
        return [record.value for record in self.records]

    def freeze(self) -> None:
        """Stop polling, like a process that hangs, until `thaw`."""
        self._polling.clear()

    def thaw(self) -> None:
        """Go on polling."""
        self._polling.set()

    def leave(self) -> None:
        """Close the consumer; it may have been closed before."""
        self._stopping.set()
        self._polling.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "a consumer did not close within 60 s"
        self._held = frozenset()

    def check(self) -> None:
        """Raise what went wrong in the thread."""
        if self.error is not None:
            raise self.error

    def __enter__(self) -> Member:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.leave()
        if error is None:
            self.check()

    def _answer(self, done: Future[T]) -> T:
        def answered() -> bool:
            self.check()
            return done.done()

        eventually(answered, waiting_for="a call of a consumer")
        return done.result()

    def _run(self, make: Callable[[], Library]) -> None:
        try:
            library = make()
            try:
                while not self._stopping.is_set():
                    self._polling.wait()
                    self._step(library)
            finally:
                library.close()
        except BaseException as error:  # noqa: BLE001 - raised to the next caller
            self.error = error

    def _step(self, library: Library) -> None:
        self._answer_calls(library)
        seen = list(library.poll())
        self.records += seen
        self._held = frozenset(library.held())
        self._owes_commit |= bool(seen) and self._commits
        if self._owes_commit:
            with suppress(Rebalancing):
                library.commit()
                self._owes_commit = False

    def _answer_calls(self, library: Library) -> None:
        while True:
            try:
                function, done = self._asked.get_nowait()
            except Empty:
                return
            try:
                done.set_result(function(library))
            except Rebalancing:
                self._asked.put((function, done))  # after the next poll
                return
            except Exception as error:  # noqa: BLE001 - raised to the caller
                done.set_exception(error)


def sizes(members: Iterable[Member]) -> list[int] | None:
    """Return how many partitions each holds, smallest first; None while one is held twice."""
    parts = [member.held() for member in members]
    if len(set().union(*parts)) != sum(map(len, parts)):
        return None
    return sorted(map(len, parts))


def wait_for_sizes(members: Iterable[Member], wanted: list[int]) -> None:
    """Wait until the members hold these numbers of partitions, in any order, each partition once."""
    present = list(members)
    eventually(
        lambda: sizes(present) == wanted,
        waiting_for=f"shares {wanted}",
        last=lambda: [member.held() for member in present],
    )
