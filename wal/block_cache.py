"""Blocks of objects in memory, through which segments that have left the disk are read.

    find     bytes that are in memory; None if some are not
    fetch    has the missing blocks read by other threads, each of them once however many wait for it

Blocks are aligned, so that readers of different streams share them: one byte costs one block at most. The
oldest blocks leave when there are more than the limit allows. Nothing is trusted because it is here: every
reader compares what it takes with the CRCs that were written with the records.

Only the event loop uses it; `submit` runs the requests elsewhere, and calls back on the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from wal.errors import Offload, RemoteReadError
from wal.objects import ObjectStore, ObjectStoreError

BLOCK_BYTES: Final = 4 << 20
"""0.1 s from a store that gives 40 MB/s to a request; much of a smaller one would be the time of the way."""

Block = tuple[str, int]
"""An object's key, and the number of a block in it."""

Told = Callable[[Exception | None], None]
"""Called on the event loop when all that was asked for has come, or with the error of what has not."""

AWAY: Final = "its segment has left the disk, and this server has no object store: set kawal.remote.store"


class BlockCache:
    """The blocks of one server."""

    def __init__(self, *, block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._limit_bytes = 0
        self._store: ObjectStore | None = None
        self._submit: Offload | None = None
        self.later: Callable[[Callable[[], None]], object] | None = None
        self._blocks: dict[Block, bytes] = {}
        self._loading: dict[Block, list[Told]] = {}
        self.size_bytes = 0
        self.fetched_bytes = 0
        """The bytes read from the store so far."""
        self.served_bytes = 0
        """The bytes given to readers so far; the other number divided by this is the read amplification."""
        self.failures = 0

    def connect(
        self,
        store: ObjectStore,
        *,
        limit_bytes: int,
        submit: Offload,
        later: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """Read from this store from now on.

        `later(call)` calls back when a reader has waited long enough; without it, readers wait to the end.
        """
        self._store, self._limit_bytes, self._submit, self.later = store, limit_bytes, submit, later

    def change_limit(self, limit_bytes: int) -> None:
        """Keep at most so many bytes from now on."""
        self._limit_bytes = limit_bytes
        self._make_room()

    def find(self, key: str, start: int, end: int) -> bytes | None:
        """Return the bytes from `start` up to `end` of an object, None unless all are in memory."""
        parts = []
        for number in self._numbers(start, end):
            data = self._blocks.pop((key, number), None)
            if data is None:
                return None
            self._blocks[key, number] = data  # the newest again
            first = number * self._block_bytes
            parts.append(data[max(0, start - first) : end - first])
        self.served_bytes += end - start
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def fetch(self, key: str, object_bytes: int, start: int, end: int, told: Told) -> None:
        """Read the blocks with these bytes; `told` is called once, maybe at once."""
        missing = [number for number in self._numbers(start, end) if (key, number) not in self._blocks]
        errors: list[Exception] = []
        left = len(missing)

        def one_came(error: Exception | None) -> None:
            nonlocal left
            left -= 1
            if error is not None:
                errors.append(error)
            if not left:
                told(errors[0] if errors else None)

        if not missing:
            told(None)
        for number in missing:
            waiting = self._loading.setdefault((key, number), [])
            waiting.append(one_came)
            if len(waiting) == 1:
                self._begin(key, number, object_bytes)

    def forget(self, key: str, start: int, end: int) -> None:
        """Drop the blocks with these bytes: they were not what they should be."""
        for number in self._numbers(start, end):
            self.size_bytes -= len(self._blocks.pop((key, number), b""))

    @property
    def loading(self) -> int:
        """The number of blocks that are being read."""
        return len(self._loading)

    def _numbers(self, start: int, end: int) -> range:
        return range(start // self._block_bytes, -(-end // self._block_bytes))

    def _begin(self, key: str, number: int, object_bytes: int) -> None:
        if self._store is None or self._submit is None:
            self._came((key, number), [], RemoteReadError(f"{key}: {AWAY}"))
            return
        first = number * self._block_bytes
        size = min(self._block_bytes, object_bytes - first)
        found: list[bytes] = []
        work = partial(_read, self._store, key, first, size, found)
        self._submit(work, partial(self._came, (key, number), found))

    def _came(self, block: Block, found: list[bytes], error: Exception | None) -> None:
        if error is None:
            self._blocks[block] = found[0]
            self.size_bytes += len(found[0])
            self.fetched_bytes += len(found[0])
            self._make_room()
        else:
            self.failures += 1
        for told in self._loading.pop(block, []):
            told(error)

    def _make_room(self) -> None:
        # The newest stays: with less than one block nothing could be read.
        while self.size_bytes > self._limit_bytes and len(self._blocks) > 1:
            block = next(iter(self._blocks))
            self.size_bytes -= len(self._blocks.pop(block))


def _read(store: ObjectStore, key: str, start: int, size_bytes: int, found: list[bytes]) -> None:
    """Read a block, in a thread.  Raises: RemoteReadError."""
    try:
        data = store.read_range(key, start, size_bytes)
    except ObjectStoreError as error:
        raise RemoteReadError(str(error)) from error
    if len(data) != size_bytes:
        raise RemoteReadError(
            f"{store.name}/{key}: the object ends at byte {start + len(data)}, before the end of its segment"
        )
    found.append(data)
