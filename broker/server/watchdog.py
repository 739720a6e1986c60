"""The watchdog of the event loop: a thread that takes the stack of a turn while it lasts too long.

    loop       begin ───────────── turn ──────────────────────── end: log with the stack, if over the limit
    watchdog        look … sleep until the turn is as old as the limit … stack … at twice the age again

A stack taken at the end would show only that the loop has counted the turn.  A turn is logged at its end, and
while it lasts once it has taken a second, as it may never end.  The thread looks once in each limit (20 ms)
while there is work, and sleeps while no turn lasts, until the next one wakes it.

It needs the interpreter's lock: of a turn inside one long call of C code it sees the stack right after.  What
never gives the lock back is found by systemd's watchdog (broker/server/notify.py).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from broker.loop.call import Call
from broker.loop.turns import Task, Turns
from broker.server.logs import log_with_stack
from broker.server.stacks import stack_of

logger = logging.getLogger("kawal.loop")

MS: Final = 1_000_000
STUCK_NS: Final = 1_000 * MS
"""The age at which a turn is logged although it has not ended."""

STANDSTILL: Final = 10
"""A turn this many times as long as its processor time may be is logged, too: something has blocked it."""


class Watchdog:
    """Watches the turns of the loop that runs in the thread `loop_thread`."""

    def __init__(self, turns: Turns, limit_ms: Callable[[], int], loop_thread: int) -> None:
        """`limit_ms()`: the processor time above which turns are logged."""
        self._turns = turns
        self._limit_ms = limit_ms
        self._loop_thread = loop_thread
        # The turn that was caught, the age at which to look again, and its stack so far.
        self._number = 0
        self._next_age_ns = 0
        self._stack = ""
        self._begun = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kawal-watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._turns.wake = self._wake
        self._turns.on_slow = self.turn_ended
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._turns.on_slow = None
        self._stopped.set()
        self._begun.set()
        self._thread.join()

    def _wake(self) -> None:
        self._turns.asleep = False
        self._begun.set()

    def _run(self) -> None:
        turns = self._turns
        while not self._stopped.is_set():
            pause_ns = self.look(turns.clock_ns())
            if pause_ns is not None:
                self._stopped.wait(pause_ns / 1e9)
                continue
            self._begun.clear()
            turns.asleep = True
            # A turn that has begun in between may have seen the flag too late.
            if turns.running or self._stopped.is_set():
                turns.asleep = False
            else:
                self._begun.wait()

    def look(self, now_ns: int) -> int | None:
        """Take the stack of a turn that lasts too long; return the time until the next look.

        None: no turn lasts, and there is nothing to look at until one begins.
        """
        turns = self._turns
        number, age_ns = turns.number, now_ns - turns.began_ns
        if not turns.running:
            return None
        limit_ns = self._limit_ms() * MS
        due_ns = self._next_age_ns if number == self._number else limit_ns
        if age_ns < due_ns:
            return due_ns - age_ns
        task, stack = turns.task, stack_of(self._loop_thread)
        if turns.number != number or not turns.running:
            return limit_ns
        self._stack, self._number, self._next_age_ns = stack, number, 2 * age_ns
        if age_ns >= STUCK_NS:
            log_with_stack(
                logger,
                logging.WARNING,
                "a turn of the event loop has not ended yet",
                stack,
                turn_ms=age_ns // MS,
                **task_fields(task),
            )
        return age_ns

    def turn_ended(self, duration_ns: int, cpu_ns: int) -> None:
        """Log a turn that is over the limit; called on the loop."""
        limit_ns = self._limit_ms() * MS
        if cpu_ns <= limit_ns and duration_ns <= STANDSTILL * limit_ns:
            return
        turns = self._turns
        stack = self._stack if self._number == turns.number else ""
        log_with_stack(
            logger,
            logging.WARNING,
            "a turn of the event loop took long",
            stack,
            turn_ms=duration_ns // MS,
            cpu_ms=cpu_ns // MS,
            work=turns.most.name,
            work_ms=turns.most.turn_ns // MS,
            piece_ms=turns.longest_task_ns // MS,
            **task_fields(turns.longest),
        )


def task_fields(task: Task) -> dict[str, Any]:
    """Return the fields of a log line that name a piece of work."""
    fields: dict[str, Any] = {"piece": task.work.name}
    if isinstance(task, Call):
        fields |= {
            "version": task.version,
            "client": task.client_id,
            "address": task.connection.peer,
            "connection": task.connection.identity,
            "correlation": task.correlation_id,
            "request_bytes": task.size_bytes,
        }
    return fields
