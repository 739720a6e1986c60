"""SIGQUIT writes what the server is doing into its log, as it does with a Java machine; the server goes on.

One line says what the event loop does and what waits for it, then each thread has a line with its stack.  The
signal is taken by a thread of its own, so that an event loop that stands still is shown, too.  It needs the
interpreter's lock; a loop inside C code that keeps it is shown by SIGABRT, which ends the process: that is
also the signal of systemd's watchdog.
"""

from __future__ import annotations

import faulthandler
import logging
import signal
import threading
from typing import Any, Final

from broker.core import Broker
from broker.server.logs import log_with_stack
from broker.server.stacks import all_stacks
from broker.server.watchdog import MS, task_fields

logger = logging.getLogger("kawal.threads")

SIGNAL: Final = signal.SIGQUIT

WORKS_MAX: Final = 10
"""The kinds of waiting slices that are named."""


def prepare() -> None:
    """Leave SIGQUIT to the thread that waits for it, and have fatal signals show the stacks.

    Call it before any thread is started: threads inherit the set of blocked signals.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {SIGNAL})
    faulthandler.enable()


class DumpOnSignal:
    """The thread that waits for SIGQUIT."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="kawal-signals", daemon=True)

    @property
    def thread_id(self) -> int:
        """The number of the thread, once started."""
        assert self._thread.ident is not None
        return self._thread.ident

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        signal.pthread_kill(self.thread_id, SIGNAL)
        self._thread.join()

    def _run(self) -> None:
        while True:
            signal.sigwait({SIGNAL})
            if self._stopping:
                return
            dump(self._broker)


def dump(broker: Broker) -> None:
    """Log the state of the event loop and the stack of each thread."""
    log_with_stack(logger, logging.WARNING, "the event loop", "", **loop_state(broker))
    for name, stack in all_stacks():
        log_with_stack(logger, logging.WARNING, f"thread {name}", stack)


def loop_state(broker: Broker) -> dict[str, Any]:
    """Return what the loop is doing and what waits for it; any thread may ask."""
    turns = broker.stats.turns
    state: dict[str, Any] = {"turn": turns.number, "state": "waiting"}
    if turns.running:
        state |= {"state": "in a turn", "turn_ms": (turns.clock_ns() - turns.began_ns) // MS}
        state |= task_fields(turns.task)
    slices = broker.scheduler.waiting()
    named = ",".join(f"{name}:{count}" for name, count in slices.most_common(WORKS_MAX))
    memory = broker.memory
    return state | {
        "slices": f"{slices.total()} ({named})" if named else 0,
        "connections": len(broker.connections),
        "parked": len(broker.waiters),
        "timers": len(broker.timers),
        "requests_in_work_bytes": memory.requests_bytes,
        "answers_unsent_bytes": memory.answers_bytes,
        "logs_busy": ",".join(vnode.name for vnode in broker.vnodes.every if vnode.busy),
        "stopping": broker.stopping,
    }
