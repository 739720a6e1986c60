"""The compiled statements of views, within a budget of bytes: those used longest ago are dropped.

A statement of 16 KB with 32 patterns takes megabytes once it is compiled, and there may be any number of
views.  Partitions keep no evaluator: they ask for it whenever they look at records.

    kept              found, and is the one used last now
    dropped, in use   found, as long as a look at records holds it; nothing is compiled twice at a time
    else              made again: by a thread before a look (`make`), one after the other
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, ClassVar, Final
from weakref import WeakValueDictionary

from broker.loop.slices import Offload, WaitingSteps, in_thread
from broker.view_topics.rooms import OpenedRoom

if TYPE_CHECKING:
    from views.evaluator import Evaluator

COMPILING_MAX: Final = 1
"""Statements compiled at once: two threads would take the interpreter from each other, and from the loop."""


class CompilingRoom(OpenedRoom):
    """The room for compiling; steps wait for it in the order in which they came."""

    most: ClassVar[int] = COMPILING_MAX


class CompiledViews:
    """Evaluators by what they are of: a key, such as a view's id, and a version, such as its definition."""

    def __init__(
        self, limit_bytes: Callable[[], int], offload: Callable[[], Offload], made: Callable[[], None]
    ) -> None:
        """Keep evaluators of `limit_bytes()` together; `made()` is called for each that was made."""
        self._limit_bytes = limit_bytes
        self._offload = offload
        self._made = made
        # The one used longest ago is the first.
        self._kept: OrderedDict[Hashable, tuple[Hashable, Evaluator]] = OrderedDict()
        self._alive: WeakValueDictionary[tuple[Hashable, Hashable], Evaluator] = WeakValueDictionary()
        self._room = CompilingRoom(self)
        self.used_bytes = 0
        """The memory of those that are kept, as estimated by `views.compiled_size`."""

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, version: Hashable = None) -> Evaluator | None:
        """Return an evaluator that is kept, or in use; None if it must be made."""
        kept = self._kept.get(key)
        if kept is not None and (kept[0] is version or kept[0] == version):
            self._kept.move_to_end(key)
            return kept[1]
        return self._alive.get((key, version))

    def now(
        self, key: Hashable, version: Hashable, build: Callable[[], Evaluator], is_wanted: Callable[[], bool]
    ) -> Evaluator:
        """Return the evaluator, made on the spot if need be: in 3 ms, or 60 ms at worst."""
        found = self.find(key, version)
        return self._add(key, version, build(), is_wanted) if found is None else found

    def make(
        self, key: Hashable, version: Hashable, build: Callable[[], Evaluator], is_wanted: Callable[[], bool]
    ) -> WaitingSteps:
        """Return the evaluator, made by a thread if need be.

        The caller holds it as long as it works with it.  What is not wanted any more when it is ready, as the
        view was deleted meanwhile, is returned and not kept.
        """
        found = self.find(key, version)
        if found is not None:
            return found
        yield from self._room.enter()
        try:
            # Others may have waited for the same.
            found = self.find(key, version)
            if found is None:
                built = yield from in_thread(self._offload(), build)
                found = self.find(key, version) or self._add(key, version, built, is_wanted)
            return found
        finally:
            self._room.leave()

    def _add(
        self, key: Hashable, version: Hashable, made: Evaluator, is_wanted: Callable[[], bool]
    ) -> Evaluator:
        self._made()
        self._alive[key, version] = made
        if is_wanted():
            self.drop(key)
            self._kept[key] = version, made
            self.used_bytes += made.size_bytes
            limit_bytes = self._limit_bytes()
            while self.used_bytes > limit_bytes and len(self._kept) > 1:
                self.drop(next(iter(self._kept)))
        return made

    def drop(self, key: Hashable) -> None:
        """Keep the evaluator no longer, whatever its version; a look that holds it goes on."""
        if key in self._kept:
            self.used_bytes -= self._kept.pop(key)[1].size_bytes
