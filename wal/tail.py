"""The bounded caches of a log: the newest extents, and indexes of sealed segments.

An extent's batches are slices of the requests that brought them, and a slice keeps all of its request in
memory. So the tail counts whole requests, and copies batches that are a small part of theirs.

Large requests lie in slabs, many in one (protocol/slabs.py). A slab is counted once, for as long as any batch
in it is kept: batches that arrive one after the other lie side by side.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from wal.disk import Buffer
from wal.segment import Segment

WASTE_MAX: Final = 2
"""Batches are copied if what they keep in memory is more than this many times their size."""

SLAB_WASTE_MAX: Final = 8
"""The same for slabs that the tail does not keep yet: what comes next will lie in them, too."""

BUFFER_BYTES: Final = 300
"""The memory of a batch beyond its bytes: a bytearray, a memoryview of it, a place in a list (measured)."""

EXTENT_OVERHEAD_BYTES: Final = 200


def pinned_bytes(buffers: Iterable[Buffer]) -> int:
    """Return the size of all that stays in memory for these buffers, each owner of slices counted once."""
    owners: dict[int, int] = {}
    for buffer in buffers:
        owner: Any = buffer.obj if type(buffer) is memoryview else buffer
        owners[id(owner)] = len(owner)
    return sum(owners.values())


def _weights(extents: dict[int, list[Buffer]]) -> tuple[int, dict[int, int], int]:
    """Return the size of the requests with memory of their own, the sizes of slabs, the number of buffers."""
    requests: dict[int, int] = {}
    slabs: dict[int, int] = {}
    count = 0
    for buffers in extents.values():
        count += len(buffers)
        for buffer in buffers:
            owner: Any = buffer.obj if type(buffer) is memoryview else buffer
            (slabs if type(owner) is mmap.mmap else requests)[id(owner)] = len(owner)
    return sum(requests.values()), slabs, count


class TailCache:
    """The bytes of recent extents, kept in each segment's `tail` for as long as this object decides."""

    __slots__ = ("_frames", "_slabs", "limit_bytes", "size_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._frames: deque[tuple[Segment, list[int], int, dict[int, int]]] = deque()
        # The number of frames in each slab.
        self._slabs: dict[int, int] = {}

    def add(self, segment: Segment, extents: dict[int, list[Buffer]], size_bytes: int) -> None:
        """Keep the extents of a frame, by position; their batches have `size_bytes` together."""
        if not extents:
            return
        pinned, slabs, buffer_count = _weights(extents)
        fresh = sum([size for slab, size in slabs.items() if slab not in self._slabs])
        if pinned > WASTE_MAX * size_bytes or fresh > SLAB_WASTE_MAX * size_bytes:
            extents = {position: [b"".join(buffers)] for position, buffers in extents.items()}
            pinned, slabs, fresh, buffer_count = size_bytes, {}, 0, len(extents)
        size_bytes = pinned + BUFFER_BYTES * buffer_count + EXTENT_OVERHEAD_BYTES * len(extents)
        segment.tail.update(extents)
        for slab in slabs:
            self._slabs[slab] = self._slabs.get(slab, 0) + 1
        self._frames.append((segment, list(extents), size_bytes, slabs))
        self.size_bytes += size_bytes + fresh
        while self.size_bytes > self.limit_bytes:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        segment, positions, size_bytes, slabs = self._frames.popleft()
        self.size_bytes -= size_bytes
        for position in positions:
            segment.tail.pop(position, None)
        if not segment.tail:
            segment.tail.clear()  # a dict that has been emptied keeps its room: 10 MB for small batches
        for slab, size in slabs.items():
            self._slabs[slab] -= 1
            if not self._slabs[slab]:
                del self._slabs[slab]
                self.size_bytes -= size

    def clear(self) -> None:
        """Forget everything."""
        while self._frames:
            self._drop_oldest()


class IndexCache:
    """The indexes and descriptors of sealed segments that were read; the oldest leave first."""

    __slots__ = ("_sizes", "limit_bytes", "opened", "size_bytes")

    FILES_MAX = 256
    """The most sealed segments whose files stay open; a process has about 20,000 descriptors."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._sizes: dict[Segment, int] = {}
        self.opened = 0
        """The number of indexes that were loaded so far."""

    def loaded(self, segment: Segment) -> None:
        """Record that a sealed segment's index is in memory; older ones make room for it.

        The last one is kept, whatever it weighs: what asked for it is about to use it.
        """
        if segment in self._sizes:
            return
        self.opened += 1
        assert segment.index is not None
        self._sizes[segment] = size = segment.index.memory_bytes()
        self.size_bytes += size
        while len(self._sizes) > 1 and (
            self.size_bytes > self.limit_bytes or len(self._sizes) > self.FILES_MAX
        ):
            self.forget(next(iter(self._sizes)))

    def stored(self, segment: Segment) -> None:
        """Record that the index in memory is stored as well: one that is too heavy to be kept is let go.

        What reads it at the moment has it until its end, and the next read loads it.
        """
        index = segment.index
        if index is None:
            return
        if index.memory_bytes() > self.limit_bytes:
            self.forget(segment)
        else:
            self.loaded(segment)

    def forget(self, segment: Segment) -> None:
        """Drop a segment's index and descriptor; both are loaded again when needed."""
        self.size_bytes -= self._sizes.pop(segment, 0)
        if segment.sealed:
            segment.index = None
            segment.shared = None
