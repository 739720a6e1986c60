"""A target assignment that a thread computes, and its way to the log, some members at a time.

begin --> group.assigning: thread --> targets, some at a time --> with the last of them the group's epoch

It is void if the changes that it follows, or a part of it, could not be stored, and if the group was deleted,
converted or loaded again meanwhile.  At the end those go on that waited for it, and the next one may begin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from groups.assignment import Assignment
from groups.context import Context
from groups.effects import EncodedRecord, Undo
from groups.timers import TimerKey

TOPICS_AT_ONCE: Final = 200
"""The topics of a target whose record is written without a thread."""

MemberTarget = tuple[str, Assignment]
"""A member, and the partitions that it is to have."""


class Assigning(Protocol):
    """A group whose targets may be large."""

    group_id: str
    epoch: int
    assigning: list[Callable[[], None]] | None


class Undoable(Protocol):
    """The records of one operation, which may be undone."""

    def on_undo(self, undo: Undo) -> None:
        """Run `undo` when the changes are undone."""


GroupT = TypeVar("GroupT", bound=Assigning)


class LargeTarget(ABC, Generic[GroupT]):
    """The target of a group's epoch at the time of its making."""

    AT_ONCE: ClassVar[int]
    """The members whose targets are stored without a pause."""
    TIMER: ClassVar[str]

    def __init__(self, context: Context, group: GroupT) -> None:
        self.context = context
        self.group = group
        self.epoch = group.epoch
        self.found: dict[str, Assignment] = {}
        # The records of targets with very many topics, which take 1 us for each.
        self.encoded: dict[str, EncodedRecord] = {}
        self._left: Iterator[MemberTarget] = iter(())
        self._is_void = False

    @abstractmethod
    def is_there(self) -> bool:
        """Whether the group is still the one for which the target is made."""

    @abstractmethod
    def store(self, some: Sequence[MemberTarget], *, is_last: bool) -> None:
        """Write the targets of some members, with the last ones the epoch; `make_void` undoes it."""

    @abstractmethod
    def encode(self, member_id: str, target: Assignment) -> EncodedRecord:
        """Return the record of a member's target; a thread asks."""

    @abstractmethod
    def assign_next(self) -> None:
        """Begin the next target, if it is due."""

    def begin(self, run: Callable[[], dict[str, Assignment]], changes: Undoable) -> None:
        """Have it computed by `run`; it is void if the changes that it follows are undone."""
        self.group.assigning = []
        changes.on_undo(self.make_void)
        self.context.offload(lambda: self._compute(run), self._computed)

    def _compute(self, run: Callable[[], dict[str, Assignment]]) -> None:
        """Do what a thread does."""
        self.found.update(run())
        for member_id, target in self.found.items():
            if len(target) > TOPICS_AT_ONCE:
                self.encoded[member_id] = self.encode(member_id, target)

    def make_void(self) -> None:
        """Let it come to nothing."""
        self._is_void = True

    def _computed(self, error: Exception | None) -> None:
        def store(now_ms: int) -> None:
            self._left = iter(self.found.items())
            if error is not None:
                self.context.now_ms = now_ms
                self._end()
                raise error
            self._store_some(now_ms)

        self._soon(store, self.context.now_ms)

    def _soon(self, action: Callable[[int], None], at_ms: int) -> None:
        # Its own key: the group may be deleted and made anew meanwhile.
        self.context.timers.set(TimerKey(self.TIMER, self.group.group_id, str(id(self))), at_ms, action)

    def _store_some(self, now_ms: int) -> None:
        self.context.now_ms = now_ms
        if self._is_void or not self.is_there():
            self._end()
            return
        some = list(islice(self._left, self.AT_ONCE))
        is_last = len(some) < self.AT_ONCE
        self.store(some, is_last=is_last)
        if is_last:
            self._end()
        else:
            self._soon(self._store_some, now_ms + 1)

    def _end(self) -> None:
        """Let those go on that waited for the target."""
        waiting, self.group.assigning = self.group.assigning or [], None
        for go_on in waiting:
            go_on()
        if self.is_there():
            self.assign_next()
