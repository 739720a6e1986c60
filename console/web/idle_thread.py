"""A thread that runs when no other one of the machine wants to: searches must not keep the broker waiting.

A search takes a processor for seconds, often the one that the broker needs.  With SCHED_IDLE of Linux
the broker takes the processor at once when it has something to do; a high `nice` value alone would let a
thread finish its slice of some milliseconds first, and every record that is acknowledged would wait for it.
A process without privileges cannot leave SCHED_IDLE, so such a thread serves one search and ends.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

Result = TypeVar("Result")

logger = logging.getLogger("kawal.console")


class _Outcome(Generic[Result]):
    """The result of some work, or its error."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.error: BaseException | None = None

    def have(self, work: Callable[[], Result]) -> None:
        go_last()
        try:
            self.results.append(work())
        except BaseException as error:  # noqa: BLE001  (it is raised where the work is waited for)
            self.error = error


def in_idle_thread(work: Callable[[], Result]) -> Result:
    """Run work in a thread of its own, after all others, and return its result or raise its error."""
    outcome: _Outcome[Result] = _Outcome()
    thread = threading.Thread(
        target=copy_context().run, args=(outcome.have, work), name="search", daemon=True
    )
    thread.start()
    thread.join()
    if outcome.error is not None:
        raise outcome.error
    return outcome.results[0]


def go_last() -> None:
    """Let this thread run when nothing else wants the processor, where the system allows that."""
    if not hasattr(os, "SCHED_IDLE"):
        return
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError as error:
        # As under systemd with `SystemCallFilter=~@resources`.
        logger.debug("searches keep their priority: %s", error)
