"""The log of each broker apart: many of them share one process and its loggers."""

from __future__ import annotations

import logging
from collections import deque
from contextvars import ContextVar
from typing import Final

from broker.server.logs import HumanFormatter

LINES_MAX: Final = 1_000
"""Lines kept of one broker, the newest."""

SPEAKER: ContextVar[deque[str] | None] = ContextVar("kawal_testing_speaker", default=None)
"""Where the lines of the broker at work go; each broker's tasks have their own value."""


def new_log() -> deque[str]:
    """Room for the lines of one broker."""
    return deque(maxlen=LINES_MAX)


class LinesHandler(logging.Handler):
    """Keeps each event with the broker that was at work; what none of them says goes to standard error."""

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
    """Send everything that is logged to its broker's lines."""
    logging.basicConfig(handlers=[LinesHandler()], level=level, force=True)
