"""The server's log: one line per event on standard error, for people or as JSON.

    2026-11-21T13:19:47.196Z INFO kawal.broker: connection closed: it was idle connection=5 cause=idle
    {"time": "2026-11-21T13:19:47.196Z", "level": "INFO", "logger": "kawal.broker", "message": "...", ...}

Text from clients may end up in a line (names, client ids, error texts). So that no line can be forged,
unprintable characters are escaped and long texts are cut.  Events of one kind are logged at most ten times in
ten seconds: a client in a loop must not fill a disk.  `extra={...}` of a logging call becomes `key=value`, or
members of the JSON object.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, TextIO

TEXT_LENGTH_MAX: Final = 256
"""Characters that one argument of a message may add to a line."""

BURST: Final = 10
WINDOW_SECONDS: Final = 10
"""The limit for events of one kind; the kind is the origin and the text without its arguments."""

REQUEST_LOG: Final = "kawal.request."
"""The prefix of the loggers of requests."""

KINDS_MAX: Final = 1000
"""Kinds remembered; a message formatted before it is logged would make a new kind each time."""

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "left_out"}


def set_up(*, json_lines: bool, level: str, stream: TextIO | None = None) -> None:
    """Send all log events from `level` on to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if json_lines else HumanFormatter())
    handler.addFilter(Repeats())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


def log_with_stack(logger: logging.Logger, level: int, text: str, stack: str, **fields: object) -> None:
    """Log an event with a stack, which is not cut as other fields are; the text is taken as it is."""
    if logger.isEnabledFor(level):
        record = logger.makeRecord(logger.name, level, "", 0, text, (), None, extra=fields)
        record.stack_info = stack or None
        logger.handle(record)


class Repeats(logging.Filter):
    """Lets the first events of a kind pass, and counts those left out."""

    def __init__(self) -> None:
        super().__init__()
        # By kind: the end of its window (seconds since 1970), and the events in it.
        self._kinds: dict[tuple[str, int, str], list[float]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide by the record's own time; the request log has a limit of its own."""
        if record.name.startswith(REQUEST_LOG):
            return True
        kind = (record.name, record.levelno, str(record.msg))
        window = self._kinds.get(kind)
        if window is None or record.created >= window[0]:
            left_out = 0 if window is None else max(0, int(window[1]) - BURST)
            if len(self._kinds) >= KINDS_MAX:
                self._kinds.clear()
            self._kinds[kind] = [record.created + WINDOW_SECONDS, 1]
            record.left_out = left_out
            return True
        window[1] += 1
        return window[1] <= BURST


class EventFormatter(logging.Formatter):
    """The common part of both forms."""

    def moment(self, record: logging.LogRecord) -> str:
        """Return the time of the event in UTC, to the millisecond."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03}Z"

    def text(self, record: logging.LogRecord) -> str:
        """Return the message with its arguments, each cut if it is too long."""
        text = str(record.msg)
        if record.args:
            text %= _bounded_all(record.args)
        left_out = getattr(record, "left_out", 0)
        return f"{text} ({left_out} more like it were left out)" if left_out else text

    def fields(self, record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
        """Yield the fields that the caller gave as `extra`."""
        for name, value in vars(record).items():
            if name not in _STANDARD:
                yield name, _bounded(value)

    def traceback(self, record: logging.LogRecord) -> str:
        """Return the traceback of the event, or ""."""
        return self.formatException(record.exc_info) if record.exc_info else ""


class HumanFormatter(EventFormatter):
    """Time, level, logger, message, fields, and the traceback on the same line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        parts = [self.text(record), *(f"{name}={value}" for name, value in self.fields(record))]
        traceback = self.traceback(record)
        if traceback:
            parts.append(traceback)
        if record.stack_info:
            parts.append(f"stack={record.stack_info}")
        return f"{self.moment(record)} {record.levelname} {record.name}: {escaped(' '.join(parts))}"


class JsonFormatter(EventFormatter):
    """The same parts as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; JSON escapes unprintable characters."""
        import json  # most servers write for people

        tree = {
            "time": self.moment(record),
            "level": record.levelname,
            "logger": record.name,
            "message": self.text(record),
            **dict(self.fields(record)),
        }
        traceback = self.traceback(record)
        if traceback:
            tree["traceback"] = traceback
        if record.stack_info:
            tree["stack"] = record.stack_info
        return json.dumps(tree, default=str)


def escaped(text: str) -> str:
    r"""Return the text with escapes such as `\n` or `\u202e` for all unprintable characters."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def _bounded_all(arguments: tuple[object, ...] | Mapping[str, object]) -> Any:
    if isinstance(arguments, Mapping):
        return {name: _bounded(value) for name, value in arguments.items()}
    return tuple(map(_bounded, arguments))


def _bounded(value: object) -> object:
    if isinstance(value, bool | int | float) or value is None:
        return value
    text = str(value)
    if len(text) > TEXT_LENGTH_MAX:
        return f"{text[:TEXT_LENGTH_MAX]}… ({len(text)} characters)"
    return value if isinstance(value, str) else text
