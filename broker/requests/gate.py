"""The gate through which every decoded request passes before its handler.

    None              the request is handled
    a response        the request is refused with it, unhandled
    Refused(make)     the same; the response is made for each thing that the request names
    Held(until_ms)    the request waits, then comes to the gate again
    steps             the checks take long: they go on in slices, and end with one of the first three
    GateClosed        (raised) the connection is closed, and its client gets no answer

Authentication, authorization of whole requests and quotas belong here.  What a request may do to each of the
topics it names is decided by its handler.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from broker.loop.call import Call, CallConnection


class GateClosed(Exception):
    """The client may send no more requests; the text says why."""


class Held(NamedTuple):
    """The verdict on a request that waits until this monotonic moment (ms)."""

    until_ms: int


class Refused(NamedTuple):
    """The verdict on a request that is refused with a response about each thing that it names."""

    make: Callable[[], object]
    """Returns the response; a thread calls it if the request is wide."""


Checks = Generator[None, None, object | None]
"""Checks of a request that take long."""


class Gate(Protocol):
    """The decision about each request."""

    def admit(self, call: Call[Any], now_ms: int) -> object | Held | Refused | Checks | None:
        """Return None to have the call handled, the response that refuses it, Refused, Held, or steps.

        Raises: GateClosed.
        """


@runtime_checkable
class WriteGate(Gate, Protocol):
    """A gate that can also tell what it would decide about a Produce, without being brought the request."""

    def lets_write(self, connection: CallConnection, topic: str) -> bool:
        """Whether a Produce of this client to the topic would pass, at once and uncounted, at this moment."""


class OpenGate:
    """A gate that lets every request pass."""

    def lets_write(self, connection: CallConnection, topic: str) -> bool:
        """Let all clients write."""
        return True

    def admit(self, call: Call[Any], now_ms: int) -> None:
        """Let the call pass."""
