"""The separate log of each broker: many of them share one process and its loggers."""

from __future__ import annotations

import logging
from collections import deque
from contextvars import ContextVar
from typing import Final

from broker.server.logs import HumanFormatter

LINES_MAX: Final = 1_000
"""The number of newest lines kept of one broker."""

SPEAKER: ContextVar[deque[str] | None] = ContextVar("kawal_testing_speaker", default=None)
"""The log of the broker that is running; each broker's tasks have their own value."""


def new_log() -> deque[str]:
    """Return an empty log for one broker."""
    return deque(maxlen=LINES_MAX)


class LinesHandler(logging.Handler):
    """Keeps each event with the broker that was running; other events go to standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(HumanFormatter())
        self._elsewhere = logging.StreamHandler()
        self._elsewhere.setFormatter(self.formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        lines = SPEAKER.get()
        if lines is None:
            self._elsewhere.emit(record)
        else:
            lines.append(self.format(record))


def set_up(level: int = logging.INFO) -> None:
    """Send each log event to its broker's lines."""
    logging.basicConfig(handlers=[LinesHandler()], level=level, force=True)
