"""A case: one request whose answer has one error code, and the words that its message must contain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from compat_tests.broker import Broker
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode

StartBroker = Callable[..., Broker]

_serial_number = count(1)


class Told(NamedTuple):
    """The error in an answer; None where the API has no field for a message."""

    code: int
    message: str | None = None


class Scene:
    """A broker with a connection to it, and topics for one case."""

    def __init__(self, broker: Broker, raw: RawClient, start_broker: StartBroker) -> None:
        """Set the scene; `start_broker` is for the cases that need settings of their own, or do harm."""
        self.broker = broker
        self.raw = raw
        self.start_broker = start_broker
        self.name = f"case-{next(_serial_number)}"

    def topic(self, partitions: int = 1, **configs: str) -> str:
        """Create the topic of this case and return its name."""
        return create_topic(
            self.broker,
            self.name,
            partitions,
            {key.replace("_", "."): value for key, value in configs.items()},
        )

    def call(self, request: Any, version: int) -> Any:
        """Send a request and return its answer."""
        return self.raw.call(request, version)


Provoke = Callable[[Scene], Told]


@dataclass(frozen=True)
class Case:
    """A way to provoke one code. `names` are words of the gateway's message: the thing and the value.

    `kafka` is the code that Kafka answers, if it is another, for the reason that `differs` gives.
    """

    code: ErrorCode
    provoke: Provoke
    names: tuple[str, ...]
    kafka: ErrorCode
    differs: str


CASES: dict[ErrorCode, Case] = {}
"""All cases, by code: the modules of this package add theirs when they are imported."""


def provokes(
    code: ErrorCode, *names: str, kafka: ErrorCode | None = None, differs: str = ""
) -> Callable[[Provoke], Provoke]:
    """Make a function the case of a code."""

    def add(provoke: Provoke) -> Provoke:
        assert code not in CASES, f"{code.name} has a case already"
        CASES[code] = Case(code, provoke, names, code if kafka is None else kafka, differs)
        return provoke

    return add
