"""The memory of what was learned of keys, over all partitions of all views, and its limit.

A history answers the same whenever its partition is read, so nothing of it may be missing: without room a
whole one is forgotten, the one used longest ago, and learned again from the beginning when it is needed.
Those that are learning just now stay.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

Tables = list[dict[Any, Any]]

SMALL: Final = 1_000
"""The entries of a table that are freed without a pause, in 0.3 ms."""


class Learned(Protocol):
    """The histories of one partition."""

    @property
    def size_bytes(self) -> int:
        """The memory that they take."""

    @property
    def is_learning(self) -> bool:
        """Whether one of them is being taught."""

    def make_room(self) -> None:
        """Forget what was learned."""


def no_limit() -> int:
    """Return the limit of one that has none."""
    return 1 << 62


def drop(_tables: Tables) -> None:
    """Leave tables to Python, which frees them at once."""


class KeyRoom:
    """All histories, the one used longest ago first."""

    def __init__(
        self, limit_bytes: Callable[[], int] = no_limit, discard: Callable[[Tables], None] = drop
    ) -> None:
        """`discard(tables)` empties large tables that are not used any more, some entries at a time."""
        self._limit_bytes = limit_bytes
        self._discard = discard
        self._known: OrderedDict[int, tuple[weakref.ref[Any], int]] = OrderedDict()
        self.used_bytes = 0

    def weigh(self, owner: Learned) -> None:
        """Note that an owner is used, with the size that it has now; others make room if need be."""
        number, size_bytes = id(owner), owner.size_bytes
        known = self._known.pop(number, None)
        self.used_bytes += size_bytes - (0 if known is None else known[1])
        reference = weakref.ref(owner, partial(self._ended, number)) if known is None else known[0]
        self._known[number] = reference, size_bytes
        if self.used_bytes > self._limit_bytes():
            self._make_room(number)

    def _make_room(self, user: int) -> None:
        limit_bytes = self._limit_bytes()
        for number, (reference, size_bytes) in tuple(self._known.items()):
            if self.used_bytes <= limit_bytes:
                return
            owner = reference()
            if number != user and size_bytes and owner is not None and not owner.is_learning:
                owner.make_room()
                self.used_bytes -= size_bytes
                self._known[number] = reference, 0

    def _ended(self, number: int, _reference: object) -> None:
        known = self._known.pop(number, None)
        if known is not None:
            self.used_bytes -= known[1]

    def keep(self, history: object, tables: Tables) -> None:
        """See to it that the tables of a history, as they are when it ends, are freed without a long turn."""
        weakref.finalize(history, self.free, tables).atexit = False

    def free(self, tables: Tables) -> None:
        """Free tables that are not used any more."""
        if sum(map(len, tables)) > SMALL:
            self._discard(list(tables))


NO_ROOM: Final = KeyRoom()
"""For histories on their own."""
