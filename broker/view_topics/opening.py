"""Opening the batches that views evaluate: those that may hold much in a thread, and few at a time.

A batch of 16 KB may open to 16 MiB, which stays in memory while its records are looked at, slice by slice:
fetches that meet such batches take turns, however many there are.

    packed, but small when opened    at once
    others                           enter the room ── a thread opens it ── steps ── leave: the next may enter
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from broker.loop.slices import Until, WaitingSteps, in_thread

if TYPE_CHECKING:
    from broker.view_topics.view_host import ViewHost
    from views.opening import Opened

OPENED_MAX: Final = 4
"""Large batches of views that are open at once: 16 MiB each, and as much again for what is made of them."""


LOOKUPS_MAX: Final = 2
"""Lookups by time that walk over frames of views at once: each holds a frame, of 16 MiB or more."""


class OpenedRoom:
    """The room for large batches that are open; steps wait for it in the order in which they came."""

    most: ClassVar[int] = OPENED_MAX

    def __init__(self, _host: object) -> None:
        self.inside = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def enter(self) -> WaitingSteps:
        """Enter at once, or when others have left; steps that are closed meanwhile do not enter."""
        if self.inside < self.most:
            self.inside += 1
            return
        resumes: list[Callable[[], None]] = []

        def start(resume: Callable[[], None]) -> None:
            resumes.append(resume)
            if self.inside < self.most:
                # The last one has left while these steps waited for their turn.
                self.inside += 1
                resume()
            else:
                self._waiting.append(resume)

        try:
            yield Until(start, self.enter_all_the_same)
        except GeneratorExit:
            if resumes and resumes[0] in self._waiting:
                self._waiting.remove(resumes[0])
            elif resumes:
                self.leave()
            raise

    def enter_all_the_same(self) -> None:
        """Enter for those that cannot wait."""
        self.inside += 1

    def leave(self) -> None:
        """Leave; the one that has waited longest has the place now."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.inside -= 1


class FramesRoom(OpenedRoom):
    """Room for the lookups by time that walk over frames: each holds a whole frame while it waits."""

    most: ClassVar[int] = LOOKUPS_MAX


def with_opened(
    host: ViewHost, batch: memoryview, steps_of: Callable[[Opened | None], WaitingSteps]
) -> WaitingSteps:
    """Return what the steps for an opened batch return; they are given None if it is not compressed."""
    from views.opening import is_packed, opened, opened_if_small

    limit = host.limits.decompressed_bytes_max
    content = opened_if_small(batch, limit) if is_packed(batch) else None
    if content is not None or not is_packed(batch):
        return (yield from steps_of(content))
    room = host.shared(OpenedRoom)
    yield from room.enter()
    try:
        content = yield from in_thread(host.loop.scheduler.offload, partial(opened, batch, limit))
        return (yield from steps_of(content))
    finally:
        room.leave()


def with_opened_inside(
    host: ViewHost, batch: memoryview, steps_of: Callable[[Opened | None], WaitingSteps]
) -> WaitingSteps:
    """Return the same inside of what may have a place in the room already: it asks for no second one."""
    from views.opening import is_packed, opened, opened_if_small

    limit = host.limits.decompressed_bytes_max
    content = opened_if_small(batch, limit) if is_packed(batch) else None
    if content is None and is_packed(batch):
        content = yield from in_thread(host.loop.scheduler.offload, partial(opened, batch, limit))
    return (yield from steps_of(content))
