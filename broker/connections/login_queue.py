"""Passwords that a thread checks, one at a time: each address has its turn, however many it has sent.

address A   check, check, check …
address B   check                     A, B, A, A: the next address with a check has the next turn
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from broker.loop.loop import Loop
from broker.security.sasl_exchange import LoginRefused, Outcome

FAULT: Final = "the check of its password has failed"

Result = Outcome | LoginRefused


class _Check(NamedTuple):
    work: Callable[[], Outcome]
    done: Callable[[Result], None]
    wanted: Callable[[], bool]


class LoginQueue:
    """The checks of a node."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._busy = False
        # By address, that which has waited longest for a turn first.
        self._waiting: dict[str, deque[_Check]] = {}

    def check(
        self,
        host: str,
        work: Callable[[], Outcome],
        done: Callable[[Result], None],
        *,
        wanted: Callable[[], bool],
    ) -> None:
        """Run `work` in a thread, then `done` with its result, unless it is not `wanted` any more."""
        self._waiting.setdefault(host, deque()).append(_Check(work, done, wanted))
        self._next()

    def _next(self) -> None:
        if self._busy:
            return
        while self._waiting:
            host, checks = next(iter(self._waiting.items()))
            del self._waiting[host]
            check = checks.popleft()
            if checks:
                self._waiting[host] = checks
            if check.wanted():
                self._begin(check)
                return

    def _begin(self, check: _Check) -> None:
        self._busy = True
        results: list[Result] = []

        def run() -> None:
            try:
                results.append(check.work())
            except LoginRefused as refused:
                results.append(refused)

        def done(error: Exception | None) -> None:
            self._busy = False
            if check.wanted():
                check.done(results[0] if error is None else LoginRefused(f"{FAULT}: {error}"))
            self._next()

        self._loop.scheduler.offload(run, done)
