"""Blocks of objects in memory, through which segments that have left the disk are read.

    find     bytes that are in memory; None if some are not
    fetch    has the missing blocks read by other threads, each of them once however many wait for it
    follow   has what a sequential reader will want next read ahead of it (wal.read_ahead)

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
from wal.read_ahead import Block, Following, ReadAhead
from wal.read_rate import ReadRate

BLOCK_BYTES: Final = 4 << 20
"""0.1 s from a store that gives 40 MB/s to a request; much of a smaller one would be the time of the way."""

Told = Callable[[Exception | None], None]
"""Called on the event loop when all that was asked for has come, or with the error of what has not."""

AWAY: Final = "its segment has left the disk, and this server has no object store: set kawal.remote.store"


class SharedRead:
    """A read of something else in the store, which is made once however many wait for it."""

    def __init__(self) -> None:
        self._waiting: list[Told] = []
        self.error: Exception | None = None
        """Why it failed, if nothing has been told yet."""

    def wait(self, told: Told) -> None:
        """Have `told` called once, when it has ended."""
        self._waiting.append(told)

    @property
    def is_waited_for(self) -> bool:
        """Whether a reader is told when it has ended."""
        return bool(self._waiting)

    def end(self, error: Exception | None) -> None:
        """Tell all that wait."""
        waiting, self._waiting, self.error = self._waiting, [], error
        for told in waiting:
            told(error)


class BlockCache:
    """The blocks of one server."""

    def __init__(self, *, block_bytes: int = BLOCK_BYTES) -> None:
        self.block_bytes = block_bytes
        self.limit_bytes = 0
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
        self._rate: ReadRate | None = None
        self._after: Callable[[int, Callable[[], None]], object] | None = None
        self._ahead = ReadAhead(self)
        self._unread: set[Block] = set()
        self._is_watching = False
        self.ahead_bytes = 0
        """The bytes among the fetched ones that were asked for before a reader came to them."""
        self.unread_bytes = 0
        """The bytes among those that were dropped without having been read."""

    def connect(
        self,
        store: ObjectStore,
        *,
        limit_bytes: int,
        submit: Offload,
        later: Callable[[Callable[[], None]], object] | None = None,
        rate: ReadRate | None = None,
        after: Callable[[int, Callable[[], None]], object] | None = None,
    ) -> None:
        """Read from this store from now on.

        `later(call)` calls back when a reader has waited long enough; without it, readers wait to the end.
        `after(ms, call)` calls back for reads that must wait to keep to the rate.
        """
        self._store, self.limit_bytes, self._submit, self.later = store, limit_bytes, submit, later
        self._rate, self._after = rate, after

    def change_limit(self, limit_bytes: int) -> None:
        """Keep at most so many bytes from now on."""
        self.limit_bytes = limit_bytes
        self._make_room()

    def find(self, key: str, start: int, end: int) -> bytes | None:
        """Return the bytes from `start` up to `end` of an object, None unless all are in memory."""
        parts = []
        for number in self._numbers(start, end):
            data = self._blocks.pop((key, number), None)
            if data is None:
                return None
            self._blocks[key, number] = data  # the newest again
            self._unread.discard((key, number))
            first = number * self.block_bytes
            parts.append(data[max(0, start - first) : end - first])
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
            is_new = (key, number) not in self._loading
            self._loading.setdefault((key, number), []).append(one_came)
            if is_new:
                self._begin(key, number, object_bytes)

    def run(self, key: str, work: Callable[[ObjectStore], object], done: Told) -> None:
        """Have a thread read something else of the store; `done` is called once, maybe at once."""
        if self._store is None or self._submit is None:
            done(RemoteReadError(f"{key}: {AWAY}"))
        else:
            self._submit(partial(work, self._store), done)

    def forget(self, key: str, start: int, end: int) -> None:
        """Drop the blocks with these bytes: they were not what they should be."""
        for number in self._numbers(start, end):
            self.size_bytes -= len(self._blocks.pop((key, number), b""))
            self._unread.discard((key, number))

    @property
    def loading(self) -> int:
        """The number of blocks that are being read."""
        return len(self._loading)

    def _numbers(self, start: int, end: int) -> range:
        return range(start // self.block_bytes, -(-end // self.block_bytes))

    def _begin(self, key: str, number: int, object_bytes: int) -> None:
        if self._store is None or self._submit is None:
            self._came((key, number), [], RemoteReadError(f"{key}: {AWAY}"))
            return
        first = number * self.block_bytes
        size = min(self.block_bytes, object_bytes - first)
        found: list[bytes] = []
        work = partial(_read, self._store, key, first, size, found)
        come = partial(self._came, (key, number), found)
        wait_ms = self._rate.wait_ms(size) if self._rate is not None else 0
        if wait_ms and self._after is not None:
            self._after(wait_ms, partial(self._submit, work, come))
        else:
            self._submit(work, come)

    def follow(self, key: str, object_bytes: int, start: int, end: int, following: Following) -> None:
        """Note that a reader reads these bytes; what it will want next is read ahead if it is sequential."""
        self.served_bytes += end - start
        for number in self._numbers(start, end):
            self._ahead.touch((key, number), object_bytes, following)

    def fetch_ahead(self, block: Block, size_bytes: int) -> bool:
        """Ask for a block that no reader waits for; return whether that is done, and not to be done later."""
        is_slow = self._rate is not None and self._rate.wait_ms(0) > 0
        if block in self._blocks or block in self._loading or is_slow or self._store is None:
            return False
        key, number = block
        self._loading[block] = []
        self._unread.add(block)
        self.ahead_bytes += size_bytes
        self._begin(key, number, number * self.block_bytes + size_bytes)
        if not self._is_watching and self.later is not None:
            self._is_watching = True
            self.later(self._tick)
        return True

    def drop_ahead(self, block: Block) -> None:
        """Drop a block that no reader has come to."""
        if block in self._unread and not self._loading.get(block):
            data = self._blocks.pop(block, b"")
            self.size_bytes -= len(data)
            self.unread_bytes += len(data)
            if data:
                self._unread.discard(block)

    def _tick(self) -> None:
        self._is_watching = self._ahead.tick() and self.later is not None
        if self._is_watching and self.later is not None:
            self.later(self._tick)

    def _came(self, block: Block, found: list[bytes], error: Exception | None) -> None:
        if error is None:
            self._blocks[block] = found[0]
            self.size_bytes += len(found[0])
            self.fetched_bytes += len(found[0])
            self._make_room()
        else:
            self.failures += 1
            self._unread.discard(block)
        for told in self._loading.pop(block, []):
            told(error)

    def _make_room(self) -> None:
        # The newest stays: with less than one block nothing could be read.
        while self.size_bytes > self.limit_bytes and len(self._blocks) > 1:
            block = next(iter(self._blocks))
            data = self._blocks.pop(block)
            self.size_bytes -= len(data)
            if block in self._unread:
                self._unread.discard(block)
                self.unread_bytes += len(data)


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
