"""Faults of the simulated disk, which may happen instead of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Call(NamedTuple):
    """A call about to happen, as fault hooks see it.

    `kind` is the method's name: open, read, write, allocate, truncate, sync, drop_cache; list,
    make_directory, rename, remove, remove_directory, sync_directory, lock.
    """

    kind: str
    path: str
    position: int = 0
    size_bytes: int = 0


class Fault(NamedTuple):
    """A fault that happens instead of the call.

    `errno` other than 0 makes it fail; a failing write stores its first `stored_bytes`, a failing sync loses
    what it covered. `is_lie` makes it report success without doing anything. `delay_ms` always comes first.
    """

    errno: int = 0
    stored_bytes: int = 0
    is_lie: bool = False
    delay_ms: int = 0


# Asked before every call; the first answer that is not None wins. It may also block (a slow disk) or raise.
FaultHook = Callable[[Call], Fault | None]


def failing(
    kind: str, number: int, *, path: str = "", nth: int = 1, times: int = 1, stored_bytes: int = 0
) -> FaultHook:
    """Return a hook that fails `times` calls of a kind from the `nth` (1: first) on, by part of the path."""
    seen = 0

    def hook(call: Call) -> Fault | None:
        nonlocal seen
        if call.kind != kind or path not in call.path:
            return None
        seen += 1
        return Fault(errno=number, stored_bytes=stored_bytes) if nth <= seen < nth + times else None

    return hook
