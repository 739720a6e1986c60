"""Rooms for what takes much memory, or a processor: few are inside at once, and the others wait in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final

from broker.loop.slices import Until, WaitingSteps

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
