"""Reads that go on when what they need has come from the object store."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, TypeVar

from broker.loop.slices import Until, in_thread
from wal.errors import RemoteReadError, RemoteWaits

Found = TypeVar("Found")

WAITS_MAX: Final = 60
"""The blocks, or half seconds, that one read waits for."""


def _nothing() -> None:
    """Ask for nothing else."""


def when_fetched(
    read: Callable[[], Found], before_wait: Callable[[], None] = _nothing
) -> Generator[Until, None, Found]:
    """Return what `read()` returns, once the blocks that it needs are in memory.

    `before_wait()` is called before each wait: what it asks for comes meanwhile.
    Raises: RemoteReadError when the store does not give them, or takes too long; what `read` raises.
    """
    for _ in range(WAITS_MAX):
        try:
            return read()
        except RemoteWaits as waits:
            missing = waits.missing
        before_wait()
        assert missing.offload is not None
        yield from in_thread(missing.offload, missing.load)
        missing.adopt()
    raise RemoteReadError(f"{missing.path}: the object store is too slow; ask again")
