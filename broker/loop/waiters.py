"""Parked calls: requests that wait until something has arrived, or until their deadline.

A parked call counts what arrives under its keys (bytes, for a fetch). It is resumed, and looks again, only
when enough is there or its deadline has come. So an append costs nothing on streams that no call waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import count
from typing import Any, Final

from broker.loop.call import Call
from broker.loop.timers import Timer, Timers
from broker.loop.turns import Turns

KEYS_PER_STEP: Final = 500
"""The keys of a call that are forgotten without a pause."""

AT_ONCE_MAX: Final = 32
"""The calls that one append resumes on the spot, 1 to 2 ms; more of them take their turns with other work."""


class ParkedCall:
    """A call that had too little to return.  `resume(now_ms)` looks again and answers."""

    __slots__ = ("alike", "call", "keys", "min_bytes", "ready", "resume", "size_bytes", "timer")

    def __init__(
        self,
        call: Call[Any],
        *,
        keys: list[int],
        size_bytes: int,
        min_bytes: int,
        resume: Callable[[int], None],
        ready: Callable[[int], bool] | None = None,
        alike: Hashable = None,
    ) -> None:
        self.call = call
        # Whether what has arrived under a key is of use; None: it always is.
        self.ready = ready
        # What is of no use for one call is of none for those after it with the same value; None: it may be.
        self.alike = alike
        # The keys it waits for: `Partition.wait_key`, which for a stored partition is its stream's id.
        self.keys = keys
        # The bytes that are there already, and the number that resumes the call.
        self.size_bytes = size_bytes
        self.min_bytes = min_bytes
        self.resume = resume
        self.timer: Timer | None = None


class Waiters:
    """All parked calls, by the keys they wait for."""

    def __init__(
        self,
        timers: Timers,
        failed: Callable[[Call[Any], Exception], None],
        soon: Callable[[Callable[[], None]], None],
        turns: Turns | None = None,
    ) -> None:
        """`failed(call, error)` ends a call whose `resume` has raised; `soon(action)` runs it in a slice.

        The time that calls take when they are resumed is counted in `turns`.
        """
        self._timers = timers
        self._failed = failed
        self._soon = soon
        self._turns = turns or Turns()
        self._by_key: dict[int, dict[int, ParkedCall]] = {}
        self._by_call: dict[int, ParkedCall] = {}
        self._own_keys = count(-1, -1)

    def __len__(self) -> int:
        return len(self._by_call)

    def new_key(self) -> int:
        """Return a key that no other partition has; negative, because stored streams use their ids."""
        return next(self._own_keys)

    def park(self, parked: ParkedCall, *, deadline_ms: int) -> None:
        """Keep the call until enough has arrived under its keys or the deadline passes."""
        self._by_call[id(parked.call)] = parked
        parked.call.holder = self
        parked.timer = self._timers.add(deadline_ms, lambda now_ms: self._finish(parked, now_ms))
        keys, parked.keys = parked.keys, []
        self.add_keys(parked, keys)

    def add_keys(self, parked: ParkedCall, keys: Iterable[int]) -> bool:
        """Have a parked call wait for these, too; return False if it waits no more."""
        if self._by_call.get(id(parked.call)) is not parked:
            return False
        for key in keys:
            waiting = self._by_key.setdefault(key, {})
            if id(parked) not in waiting:
                waiting[id(parked)] = parked
                parked.keys.append(key)
        return True

    def resume(self, parked: ParkedCall, now_ms: int) -> None:
        """Resume a call, if it still waits."""
        self._finish(parked, now_ms)

    def waits_for(self, key: int) -> bool:
        """Whether any call waits for this key."""
        return key in self._by_key

    def waiting_for(self, key: int) -> int:
        """Return the number of calls that wait for this key."""
        return len(self._by_key.get(key, ()))

    def advanced(self, key: int, added_bytes: int, now_ms: int) -> None:
        """Count bytes that became readable and resume the calls that now have enough."""
        ready = 0
        useless: set[Hashable] = set()
        for parked in tuple(self._by_key.get(key, {}).values()):
            parked.size_bytes += added_bytes
            if parked.size_bytes < parked.min_bytes or parked.alike in useless:
                continue
            if parked.ready is not None and not parked.ready(key):
                if parked.alike is not None:
                    useless.add(parked.alike)
            else:
                ready += 1
                if ready <= AT_ONCE_MAX:
                    self._finish(parked, now_ms)
                elif parked.size_bytes - added_bytes < parked.min_bytes or parked.ready is not None:
                    self._soon(partial(self._finish, parked, now_ms))

    def wake(self, keys: Iterable[int], now_ms: int) -> None:
        """Resume the calls of these keys at once: a partition was deleted, or its log start moved."""
        for key in keys:
            for parked in tuple(self._by_key.get(key, {}).values()):
                self._finish(parked, now_ms)

    def wake_all(self, now_ms: int) -> None:
        """Resume every parked call, as at shutdown."""
        for parked in tuple(self._by_call.values()):
            self._finish(parked, now_ms)

    def wake_heaviest(self, wanted_bytes: int, of: Callable[[Call[Any]], bool], now_ms: int) -> None:
        """Resume calls that `of` chooses, the heaviest first, until they give back this much memory."""
        heaviest = sorted(
            (parked for parked in self._by_call.values() if of(parked.call)),
            key=lambda parked: -parked.call.weight_bytes,
        )
        for parked in heaviest:
            if wanted_bytes <= 0:
                return
            wanted_bytes -= parked.call.weight_bytes
            self._soon(partial(self._finish, parked, now_ms))

    def cancel(self, call: Call[Any]) -> None:
        """Forget a parked call whose client has left."""
        parked = self._by_call.get(id(call))
        if parked is not None:
            self._forget(parked)

    def _finish(self, parked: ParkedCall, now_ms: int) -> None:
        if self._by_call.get(id(parked.call)) is parked:
            self._forget(parked)
            before = self._turns.enter(parked.call)
            try:
                parked.resume(now_ms)
            except Exception as error:  # noqa: BLE001  (the net)
                self._failed(parked.call, error)
            self._turns.leave(before)

    def _forget(self, parked: ParkedCall) -> None:
        if parked.timer is not None:
            parked.timer.cancel()
        parked.call.holder = None
        del self._by_call[id(parked.call)]
        if len(parked.keys) <= KEYS_PER_STEP:
            self._forget_keys(parked)
        else:
            self._soon(partial(self._forget_in_steps, parked))

    def _forget_in_steps(self, parked: ParkedCall) -> None:
        """Forget the next keys of a call that waits no more, the rest in other slices."""
        self._forget_keys(parked)
        if parked.keys:
            self._soon(partial(self._forget_in_steps, parked))

    def _forget_keys(self, parked: ParkedCall) -> None:
        keys = parked.keys[-KEYS_PER_STEP:]
        del parked.keys[-KEYS_PER_STEP:]
        for key in keys:
            waiting = self._by_key[key]
            del waiting[id(parked)]
            if not waiting:
                del self._by_key[key]
