"""Coordinators that are loading: what they refuse until then is asked again.

After a start, or after a failure of its disk, a server reads what its groups have stored before it answers
for them. That takes seconds at most; clients ask again, and so do the commands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from protocol.error_codes import ErrorCode

PAUSE_SECONDS = 0.1
PATIENCE_SECONDS = 15.0
"""The time after which the refusal is what is told: 10 million records of groups are read in less."""

LOADING: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def when_loaded(ask: Callable[[], Any]) -> Any:
    """Return the first answer without the refusal of a coordinator that is loading, or the last one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = ask()
        if LOADING.isdisjoint(_codes(answer)) or time.monotonic() >= deadline:
            return answer
        time.sleep(PAUSE_SECONDS)


def _codes(message: Any) -> Iterator[int]:
    """Yield the error codes of an answer, and of all its parts."""
    if isinstance(message, list):
        for part in message:
            yield from _codes(part)
    elif is_dataclass(message):
        for field in fields(message):
            value = getattr(message, field.name)
            if field.name == "error_code":
                yield value
            else:
                yield from _codes(value)
