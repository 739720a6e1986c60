"""Levels of the server's own loggers, as the BROKER_LOGGER resource shows and changes them.

A level lasts until the server stops, as in Kafka. Kafka's levels map to Python's: TRACE is below DEBUG, FATAL
is CRITICAL. `root` is the logger that all others inherit from.
"""

from __future__ import annotations

import logging
from typing import Final

from broker.errors import RequestError
from protocol.error_codes import ErrorCode

ROOT: Final = "root"
PREFIX: Final = "kawal"
"""The prefix of this program's loggers; those of its libraries follow the root."""

_NUMBERS: Final = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


class Loggers:
    """The loggers of this process; a test passes a substitute with the same methods."""

    def levels(self) -> dict[str, str]:
        """Return the effective level of every logger by name."""
        manager = logging.Logger.manager
        own = [name for name in manager.loggerDict if name == PREFIX or name.startswith(f"{PREFIX}.")]
        return {name: _level_name(self._logger(name)) for name in sorted([ROOT, *own])}

    def set_level(self, name: str, level: str | None) -> None:
        """Set the level of a logger (one of `levels`); None: inherit it."""
        self._logger(name).setLevel(logging.NOTSET if level is None else _NUMBERS[level])

    def _logger(self, name: str) -> logging.Logger:
        return logging.getLogger(None if name == ROOT else name)


def check_change(loggers: Loggers, name: str, level: str | None) -> None:
    """Check that `set_level` may be called with these.  Raises: RequestError, with Kafka's code and words."""
    if name not in loggers.levels():
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if level is None:
        if name == ROOT:
            raise RequestError(
                ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
            )
    elif level not in _NUMBERS:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level."
            f" Valid log levels are {', '.join(sorted(_NUMBERS))}",
        )


def _level_name(logger: logging.Logger) -> str:
    number = logger.getEffectiveLevel()
    return next((name for name, value in reversed(_NUMBERS.items()) if value <= number), "TRACE")
