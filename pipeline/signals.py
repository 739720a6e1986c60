"""Signals that ask a job to stop: noted, so that the running batch can end."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Stop:
    """The signal that asked to stop, 0 while there is none."""

    signal_number: int = 0


@contextmanager
def stop_on_signals(stop: Stop | None = None) -> Iterator[Stop]:
    """Record SIGINT and SIGTERM in `stop` instead of ending; a second one has its usual effect.

    Spark sets a handler of its own for SIGINT, which throws away the running batch: enter again, with the
    same `stop`, once it has started.
    """
    stop = stop or Stop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, _frame: FrameType | None) -> None:
        stop.signal_number = number
        # What py4j logs, with traces, of a JVM that has been told to stop as well is of no use to anyone.
        logging.disable(logging.CRITICAL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    for number in before:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        logging.disable(logging.NOTSET)
        for number, handler in before.items():
            signal.signal(number, handler)


def name_of(stop: Stop) -> str:
    """Return the name of the signal that has come."""
    return signal.Signals(stop.signal_number).name
