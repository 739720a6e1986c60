"""The faults a test has asked for: which requests, and which commits, meet what.

A fault is used up after `times`, or holds until it is healed.  Several may meet the same request: their
delays add up, and the first of the others decides.
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

    `fail_produce`   the partitions named are answered with `error`, and store nothing
    `lose_answer`    the request is carried out, and the connection ends instead of an answer
    `drop`           the connection ends, and nothing is carried out
    `slow`           the answer leaves `delay_ms` later
    `fail_sync`      the sync of a commit fails with EIO, and what it covered is lost
    `slow_disk`      a commit begins `delay_ms` later
    """

    kind: Kind
    number: int = 0
    api_key: int | None = None
    """None: every API."""
    topic: str | None = None
    partition: int | None = None
    error: ErrorCode = ErrorCode.NONE
    delay_ms: int = 0
    times: int | None = None
    hits: int = 0

    @property
    def is_used_up(self) -> bool:
        """True when it has met as much as it should."""
        return self.times is not None and self.hits >= self.times


class Faults:
    """The faults of one broker; they outlive its restarts."""

    def __init__(self) -> None:
        self._all: dict[int, Fault] = {}
        self._numbers = count(1)

    def add(self, fault: Fault) -> int:
        """Let it hold from now on; its number."""
        fault.number = next(self._numbers)
        self._all[fault.number] = fault
        return fault.number

    def hits(self, number: int) -> int:
        """How many requests or commits a fault has met."""
        return self._all[number].hits

    def heal(self, number: int | None = None) -> None:
        """Let a fault, or all of them, meet nothing any more; what they met stays known."""
        for fault in self._all.values() if number is None else (self._all[number],):
            fault.times = fault.hits

    def of_request(self, api_key: int) -> list[Fault]:
        """The faults that a request may meet; whether it does is for the caller to say and to count."""
        return [
            fault
            for fault in self._active()
            if fault.kind in OF_REQUESTS and fault.api_key in (None, api_key)
        ]

    def of_commit(self) -> list[Fault]:
        """The faults that the next commit meets, counted."""
        found = [fault for fault in self._active() if fault.kind in OF_COMMITS]
        for fault in found:
            fault.hits += 1
        return found

    def _active(self) -> Iterator[Fault]:
        return (fault for fault in self._all.values() if not fault.is_used_up)
