"""The net under all work: an error of our own ends the work in which it came up, and never the process.

    request, connection   its connection is closed
    timer, background     it is over; what is done regularly is done again at its next time
    coordinator           the partitions of the groups in question are loaded again
    log                   the vnode refuses writes until its log has been verified, or until the next start
    thread, http, loop    the piece of work is over

Each is logged with its cause and counted, by place, for the metrics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum

logger = logging.getLogger("kawal.internal")


class ErrorPlace(Enum):
    """The kind of work that an error has ended."""

    REQUEST = "request"
    CONNECTION = "connection"
    TIMER = "timer"
    BACKGROUND = "background"
    COORDINATOR = "coordinator"
    LOG = "log"
    THREAD = "thread"
    HTTP = "http"
    LOOP = "loop"


class InternalErrors:
    """Counts and logs errors of our own."""

    __slots__ = ("counts", "listener")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(ErrorPlace, 0)
        self.listener: Callable[[BaseException], None] | None = None
        """Called with each error; tests raise it again, so that none is overlooked."""

    def note(self, place: ErrorPlace, what: str, error: BaseException) -> None:
        """Count an error and log it; `what` names the work that it has ended."""
        self.counts[place] += 1
        logger.error("internal error: %s", what, exc_info=error)
        if self.listener is not None:
            self.listener(error)

    @contextmanager
    def net(self, place: ErrorPlace, what: str) -> Iterator[None]:
        """Let an error end the work inside, and nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  (this is the net)
            self.note(place, what, error)
