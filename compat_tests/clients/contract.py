"""The programs' side of the contract in README.md, for those written in Python."""

from __future__ import annotations

import json
import ssl
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Operation = Callable[..., dict[str, Any]]

NUMBERS_AT_A_TIME = 10
PAUSE_SECONDS = 0.01
"""10 numbers every 10 ms: about 1,000 a second."""

UNANSWERED_MAX = 200
PATIENCE_SECONDS = 60
PROGRESS_EVERY = 100


class CannotError(Exception):
    """The client itself has no such thing."""


_security: dict[str, str] = {}
"""The field `security` of the request in work; {}: it has none."""


def serve(operations: Mapping[str, Operation], cannot: Mapping[str, str]) -> None:
    """Answer requests until standard input ends; `cannot` gives the reasons for what is not an operation."""
    for line in sys.stdin:
        request = json.loads(line)
        name = request.pop("operation")
        _security.clear()
        _security.update(request.pop("security", {}))
        try:
            if name in cannot:
                raise CannotError(cannot[name])
            answer: dict[str, Any] = {"ok": operations[name](**request)}
        except CannotError as refused:
            answer = {"cannot": str(refused)}
        except Exception:  # noqa: BLE001  whatever a client raises is this request's answer
            answer = {"error": traceback.format_exc(limit=-6)}
        say(answer)


def librdkafka_security() -> dict[str, str]:
    """Return the security of the request in work as settings of librdkafka."""
    names = {
        "protocol": "security.protocol",
        "authority": "ssl.ca.location",
        "mechanism": "sasl.mechanism",
        "user": "sasl.username",
        "password": "sasl.password",
    }
    settings = {names[field]: text for field, text in _security.items() if field in names}
    if "certificate" in _security:
        settings |= dict.fromkeys(("ssl.certificate.location", "ssl.key.location"), _security["certificate"])
    return settings


def bearer_token() -> str | None:
    """Return the token of OAUTHBEARER that the request in work has, if any."""
    return _security.get("bearer")


def python_security() -> dict[str, Any]:
    """Return the security of the request in work as settings of kafka-python and aiokafka."""
    names = {
        "protocol": "security_protocol",
        "mechanism": "sasl_mechanism",
        "user": "sasl_plain_username",
        "password": "sasl_plain_password",
    }
    settings: dict[str, Any] = {names[field]: text for field, text in _security.items() if field in names}
    if "authority" in _security:
        context = ssl.create_default_context(cafile=_security["authority"])
        if "certificate" in _security:
            context.load_cert_chain(_security["certificate"])
        settings["ssl_context"] = context
    return settings


def say(line: dict[str, Any]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Progress:
    """A reporter of progress in steps, so that a fast client does not drown its reader in lines."""

    def __init__(self) -> None:
        self._told = 0

    def tell(self, count: int) -> None:
        """Report how much is done, if that is in a later step than last reported."""
        if count // PROGRESS_EVERY > self._told // PROGRESS_EVERY:
            self._told = count
            say({"progress": count})


class Records:
    """Records as the contract has them; one that comes again is left out."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self._seen: set[tuple[int, int]] = set()

    def __len__(self) -> int:
        return len(self.all)

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Take those that are new."""
        for record in records:
            place = (record["partition"], record["offset"])
            if place not in self._seen:
                self._seen.add(place)
                self.all.append(record)


def encoded(text: str | None) -> bytes | None:
    """Return a text's bytes; null stays null."""
    return None if text is None else text.encode()


def decoded(data: bytes | None) -> str | None:
    """Return the text of some bytes; null stays null."""
    return None if data is None else data.decode()


def until(deadline_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Yield until the deadline is over, then fail."""
    deadline = time.monotonic() + deadline_seconds
    while time.monotonic() < deadline:
        yield
    raise TimeoutError(f"not done after {deadline_seconds} s")
