"""The newest frames of a log: which streams have entries in them, known without a look at the file.

Views over a whole log ask for this after each of its commits.  Reading it back from the file took 25 µs a
frame, for each view: with a thousand frames since its last look, a view stopped the event loop for 30 ms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

FRAMES_MAX: Final = 1_000
"""The frames that are known."""

STREAMS_MAX: Final = 64
"""A frame with entries of more streams is not kept, nor are those before it: so all take at most 1 MB."""


class NewestFrame(NamedTuple):
    """The streams of a frame."""

    next_version: int
    """The first version of the next frame."""
    streams: tuple[int, ...]
    """The streams that have records in it."""
    metas: tuple[int, ...]
    """The streams that have meta entries in it."""


class NewestFrames:
    """The newest durable frames of a log."""

    __slots__ = ("_frames", "_since")

    def __init__(self) -> None:
        self._frames: deque[NewestFrame] = deque()
        # The version from which on all frames are known; None before the first.
        self._since: int | None = None

    def add(self, base_version: int, next_version: int, streams: Iterable[int], metas: Iterable[int]) -> None:
        """Add a frame, which has become durable."""
        frame = NewestFrame(next_version, tuple(streams), tuple(metas))
        if len(frame.streams) + len(frame.metas) > STREAMS_MAX:
            self._frames.clear()
            self._since = next_version
            return
        if self._since is None:
            self._since = base_version
        self._frames.append(frame)
        if len(self._frames) > FRAMES_MAX:
            self._since = self._frames.popleft().next_version

    def since(self, version: int) -> list[NewestFrame] | None:
        """Return the frames from `version` on, oldest first; None if not all of them are known."""
        if self._since is None or version < self._since:
            return None
        found: list[NewestFrame] = []
        for frame in reversed(self._frames):
            if frame.next_version <= version:
                break
            found.append(frame)
        found.reverse()
        return found
