"""The server's signs of life in the object store, once it keeps the copy there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from broker.loop.loop import Loop
from broker.loop.slices import Offload
from broker.upkeep.remote_call import submit_call
from wal.objects import Fenced
from wal.remote.heartbeat import Heart

logger = logging.getLogger("kawal.remote")

FIRST_MS: Final = 100
"""The pause between two looks whether the copy is kept, before the first sign: others look for it."""
LOG_EVERY_MS: Final = 60_000
"""A store that is away is told of once in this time."""


class Heartbeat:
    """Gives a sign as soon as the copy is kept, then one an interval after the one before has arrived."""

    def __init__(
        self,
        loop: Loop,
        heart: Heart,
        *,
        interval_ms: int,
        epoch: Callable[[], int | None],
        submit: Offload,
        lost: Callable[[Exception], None],
    ) -> None:
        """`epoch` is that of the cut, None before this process keeps it; `lost` is told when another does."""
        self._loop = loop
        self._heart = heart
        self._interval_ms = interval_ms
        self._epoch = epoch
        self._submit = submit
        self._lost = lost
        self._told_ms: int | None = None
        self._signs = 0
        self._failures = 0
        self._later(0)

    def numbers(self) -> dict[str, int]:
        """Return the numbers for metrics."""
        return {"heartbeat_signs": self._signs, "heartbeat_failures": self._failures}

    def _later(self, delay_ms: int) -> None:
        self._loop.timers.add(self._loop.clock.turn_ms + delay_ms, self._beat)

    def _beat(self, _now_ms: int) -> None:
        epoch = self._epoch()
        if epoch is None:
            self._later(min(self._interval_ms, FIRST_MS))
        else:
            submit_call(self._submit, lambda: self._heart.beat(epoch), self._done)

    def _done(self, error: Exception | None) -> None:
        if isinstance(error, Fenced):
            self._lost(error)
            return
        self._later(self._interval_ms)
        if error is None:
            self._signs += 1
            self._told_ms = None
            return
        self._failures += 1
        now_ms = self._loop.clock.turn_ms
        if self._told_ms is None or now_ms >= self._told_ms + LOG_EVERY_MS:
            self._told_ms = now_ms
            logger.warning("no sign of life reaches the object store, a standby may take over: %s", error)
