"""The request log: a line for each request of the clients and APIs for which it is switched on.

    kawal.request.log=spark-*, fetch:*, produce:billing-?     clients, or an API and clients, by patterns
    level of the logger kawal.request, or kawal.request.API, at DEBUG or below

Both change on a running server, by IncrementalAlterConfigs of a broker and of a BROKER_LOGGER; the latter is
Kafka's way, with its logger `kafka.request.logger`.  A line has the request's header, sizes, the phases of
its time and its error codes, and nothing of its contents, where secrets may be.  Lines are bounded in length,
and in number by `kawal.request.log.rate`; those left out are counted.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import translate
from typing import Any, Final

from broker.config.config import Config
from broker.config.request_log_rules import split_rule
from broker.handlers import APIS
from broker.loop.call import Call
from broker.loop.request_stats import PHASES, phases_ns
from protocol.error_codes import ErrorCode

NAME: Final = "kawal.request"

SECOND_NS: Final = 1_000_000_000

ERRORS_MAX: Final = 10
"""The different error codes of an answer that are named."""

_root = logging.getLogger(NAME)
# The server's own level may be DEBUG; a line for each request is another matter.
_root.setLevel(logging.INFO)
_loggers: Final = {key: logging.getLogger(f"{NAME}.{api.name}") for key, api in APIS.items()}


class RequestLog:
    """Decides which requests are logged, and logs them."""

    def __init__(self) -> None:
        self.on = False
        """False: no request is logged, and `wants` need not be asked."""
        self._apis: frozenset[int] = frozenset()
        self._rules: list[tuple[int | None, re.Pattern[str]]] = []
        self._lines_max = 0
        # The second in which lines are counted, the lines in it, and those left out since the last line.
        self._second = -1
        self._lines = 0
        self._left_out = 0

    def configure(self, config: Config) -> None:
        """Apply changed settings."""
        self._rules = _rules(config.kawal_request_log)
        self._lines_max = config.kawal_request_log_rate
        self.refresh()

    def refresh(self) -> None:
        """Apply changed levels of loggers."""
        self._apis = frozenset(key for key, logger in _loggers.items() if logger.isEnabledFor(logging.DEBUG))
        self.on = bool(self._apis or self._rules)

    def wants(self, call: Call[Any]) -> bool:
        """Whether the request is to be logged."""
        if call.api_key in self._apis:
            return True
        name = call.client_id or ""
        return any(key in (None, call.api_key) and clients.match(name) for key, clients in self._rules)

    def write(self, call: Call[Any], sent_ns: int) -> None:
        """Log a request whose answer has left at this moment, unless there were too many."""
        second = sent_ns // SECOND_NS
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        logger = _loggers.get(call.api_key)
        if self._lines > self._lines_max or logger is None:
            self._left_out += 1
            return
        text = f"{APIS[call.api_key].name} v{call.version}"
        record = logger.makeRecord(
            logger.name, logging.INFO, "", 0, text, (), None, extra=_fields(call, sent_ns)
        )
        record.left_out, self._left_out = self._left_out, 0
        # Not by its level: one client is logged although its APIs are not.
        logger.handle(record)


def _rules(texts: Sequence[str]) -> list[tuple[int | None, re.Pattern[str]]]:
    keys = {api.name: key for key, api in APIS.items()}
    rules = []
    for api, clients in map(split_rule, texts):
        rules.append((None if api is None else keys.get(api, -1), re.compile(translate(clients))))
    return rules


def _fields(call: Call[Any], sent_ns: int) -> dict[str, Any]:
    phases = zip(PHASES, phases_ns(call, sent_ns), strict=True)
    fields: dict[str, Any] = {
        "client": call.client_id,
        "address": call.connection.peer,
        "connection": call.connection.identity,
        "correlation": call.correlation_id,
        "request_bytes": call.size_bytes,
        "response_bytes": call.response_bytes,
        "total_ms": _ms(sent_ns - call.received_ns),
        **{f"{phase}_ms": _ms(duration_ns) for phase, duration_ns in phases},
    }
    if call.errors:
        codes = Counter(call.errors).most_common(ERRORS_MAX)
        fields["errors"] = ",".join(f"{_error_name(code)}:{count}" for code, count in codes)
    return fields


def _error_name(code: int) -> str:
    return ErrorCode(code).name


def _ms(duration_ns: int) -> float:
    return round(duration_ns / 1_000_000, 3)
