"""The faults that a test has asked for, and the requests and commits that meet them.

A fault is used up after `times`, or lasts until it is healed.  Several may meet the same request: delays add
up, and the first fault of another kind decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal

from protocol.error_codes import ErrorCode

Kind = Literal["fail_produce", "lose_answer", "drop", "slow", "fail_sync", "slow_disk"]

OF_REQUESTS: Final = frozenset({"fail_produce", "lose_answer", "drop", "slow"})
OF_COMMITS: Final = frozenset({"fail_sync", "slow_disk"})


@dataclass(slots=True, kw_only=True)
class Fault:
    """One fault.

    `fail_produce`   the named partitions are answered with `error`, and store nothing
    `lose_answer`    the request is carried out, but the connection ends instead of an answer
    `drop`           the connection ends, and nothing is carried out
    `slow`           the answer leaves `delay_ms` later
    `fail_sync`      the sync of a commit fails with EIO, and the records it covered are lost
    `slow_disk`      a commit begins `delay_ms` later
    """

    kind: Kind
    number: int = 0
    api_key: int | None = None
    """The API whose requests meet it; None: every API."""
    topic: str | None = None
    partition: int | None = None
    error: ErrorCode = ErrorCode.NONE
    delay_ms: int = 0
    times: int | None = None
    hits: int = 0

    @property
    def is_used_up(self) -> bool:
        """Whether it has met as many requests or commits as it should."""
        return self.times is not None and self.hits >= self.times


class Faults:
    """The faults of one broker; they outlive its restarts."""

    def __init__(self) -> None:
        self._all: dict[int, Fault] = {}
        self._numbers = count(1)

    def add(self, fault: Fault) -> int:
        """Put a fault into effect and return its number."""
        fault.number = next(self._numbers)
        self._all[fault.number] = fault
        return fault.number

    def hits(self, number: int) -> int:
        """Return the number of requests or commits that a fault has met."""
        return self._all[number].hits

    def heal(self, number: int | None = None) -> None:
        """End a fault, or all of them; the counts of what they met are kept."""
        for fault in self._all.values() if number is None else (self._all[number],):
            fault.times = fault.hits

    def of_request(self, api_key: int) -> list[Fault]:
        """Return the faults that a request may meet; the caller decides whether it does, and counts."""
        return [
            fault
            for fault in self._active()
            if fault.kind in OF_REQUESTS and fault.api_key in (None, api_key)
        ]

    def of_commit(self) -> list[Fault]:
        """Return the faults that the next commit meets, and count them."""
        found = [fault for fault in self._active() if fault.kind in OF_COMMITS]
        for fault in found:
            fault.hits += 1
        return found

    def _active(self) -> Iterator[Fault]:
        return (fault for fault in self._all.values() if not fault.is_used_up)
