"""Parked calls: requests that wait until something has arrived, or until their deadline.

A parked call counts what arrives under its keys (bytes, for a fetch). It is resumed, and looks again, only
when enough is there or its deadline has come. So an append costs nothing on streams that no call waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
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

RESUMED_PER_SLICE: Final = 8
"""The calls resumed in each of these turns, about 0.5 ms."""

LOOKED_AT_ONCE_MAX: Final = 1_000
"""The calls that are looked at without a pause, 0.2 us each."""


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
        # What is of no use for one call is of none for those after it with the same value, which want no
        # bytes, and have `ready`; None: it may be.
        self.alike = alike
        # The keys it waits for: `Partition.wait_key`, which for a stored partition is its stream's id.
        self.keys = keys
        # The bytes that are there already, and the number that resumes the call.
        self.size_bytes = size_bytes
        self.min_bytes = min_bytes
        self.resume = resume
        self.timer: Timer | None = None


class _Waiting:
    """The calls that wait for one key, those that are alike together, the longest waiting first."""

    __slots__ = ("alike", "own")

    def __init__(self) -> None:
        self.own: dict[int, ParkedCall] = {}
        self.alike: dict[Hashable, dict[int, ParkedCall]] = {}

    def among(self, alike: Hashable) -> dict[int, ParkedCall]:
        """Return the calls among which one with this value waits."""
        return self.own if alike is None else self.alike.setdefault(alike, {})

    def remove(self, parked: ParkedCall) -> None:
        """Forget a call."""
        if parked.alike is None:
            self.own.pop(id(parked), None)
            return
        calls = self.alike.get(parked.alike)
        if calls is not None:
            calls.pop(id(parked), None)
            if not calls:
                del self.alike[parked.alike]

    def all(self) -> list[ParkedCall]:
        """Return every call."""
        return [*self.own.values(), *(parked for calls in self.alike.values() for parked in calls.values())]

    @property
    def is_over(self) -> bool:
        """Whether no call waits any more."""
        return not (self.own or self.alike)


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
        self._by_key: dict[int, _Waiting] = {}
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
            waiting = self._by_key.get(key)
            if waiting is None:
                waiting = self._by_key[key] = _Waiting()
            calls = waiting.among(parked.alike)
            if id(parked) not in calls:
                calls[id(parked)] = parked
                parked.keys.append(key)
        return True

    def resume(self, parked: ParkedCall, now_ms: int) -> None:
        """Resume a call, if it still waits."""
        self._finish(parked, now_ms)

    def waits_for(self, key: int) -> bool:
        """Whether any call waits for this key."""
        return key in self._by_key

    def all_for(self, key: int) -> list[ParkedCall]:
        """Return the calls that wait for this key."""
        waiting = self._by_key.get(key)
        return [] if waiting is None else waiting.all()

    def waiting_for(self, key: int) -> int:
        """Return the number of calls that wait for this key."""
        return len(self.all_for(key))

    def advanced(self, key: int, added_bytes: int, now_ms: int) -> None:
        """Count bytes that became readable and resume the calls that now have enough."""
        waiting = self._by_key.get(key)
        if waiting is None:
            return
        ready = 0
        for calls in tuple(waiting.alike.values()):
            ready += self._resume_alike(key, calls, AT_ONCE_MAX - ready, now_ms)
        if waiting.own:
            calls_waiting = iter(tuple(waiting.own.values()))
            self._count(key, calls_waiting, added_bytes, now_ms, AT_ONCE_MAX - ready)

    def _count(
        self, key: int, calls: Iterator[ParkedCall], added_bytes: int, now_ms: int, at_most: int
    ) -> None:
        """Count bytes for calls, and resume those that have enough: some now, the others in later slices."""
        for looked, parked in enumerate(calls, start=1):
            # Between slices, some are answered or leave.
            if self._by_call.get(id(parked.call)) is parked:
                parked.size_bytes += added_bytes
                if parked.size_bytes >= parked.min_bytes and (parked.ready is None or parked.ready(key)):
                    self._finish(parked, now_ms)
                    at_most -= 1
            if at_most <= 0 or looked == LOOKED_AT_ONCE_MAX:
                self._soon(lambda: self._count(key, calls, added_bytes, now_ms, RESUMED_PER_SLICE))
                return

    def _resume_alike(self, key: int, calls: dict[int, ParkedCall], at_most: int, now_ms: int) -> int:
        """Resume calls that are alike until something is of no use for one; return how many were.

        None is looked at that comes after that one, however many there are.
        """
        resumed = 0
        for _ in range(len(calls)):
            parked = next(iter(calls.values()), None)
            if parked is None:
                break
            if self._by_call.get(id(parked.call)) is not parked:
                # It waits no more, and its many keys are being forgotten.
                del calls[id(parked)]
                continue
            assert parked.ready is not None, "what is of use for one of many alike has to be known"
            if not parked.ready(key):
                break
            if resumed >= at_most:
                self._soon(lambda: self.advanced(key, 0, now_ms))
                break
            resumed += 1
            self._finish(parked, now_ms)
        return resumed

    def log_start_moved(self, key: int, now_ms: int) -> None:
        """Have the calls of a key asked, in a slice: no bytes have come, but a share fetch may have room."""
        if key in self._by_key:
            self._soon(lambda: self.advanced(key, 0, now_ms))

    def wake(self, keys: Iterable[int], now_ms: int) -> None:
        """Resume the calls of these keys, as partitions were deleted; of many, most in later slices."""
        self._wake(iter([parked for key in keys for parked in self.all_for(key)]), AT_ONCE_MAX, now_ms)

    def _wake(self, calls: Iterator[ParkedCall], at_most: int, now_ms: int) -> None:
        for looked, parked in enumerate(calls, start=1):
            if self._by_call.get(id(parked.call)) is parked:
                self._finish(parked, now_ms)
                at_most -= 1
            if at_most <= 0 or looked == LOOKED_AT_ONCE_MAX:
                self._soon(lambda: self._wake(calls, RESUMED_PER_SLICE, now_ms))
                return

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
            waiting.remove(parked)
            if waiting.is_over:
                del self._by_key[key]
