"""A search as one process asks another for it, and its outcome on the way back.

Both cross a pipe by pickle, which only the console and the processes that it has started can write to.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from console.errors import CommandError
from console.security import Security
from console.web.search_bounds import Bounds

LEAVE: Final = "leave"
"""The message that ends the search under way."""


class Way(NamedTuple):
    """The way to the brokers for one identity, as in console/web/kafka_door.py."""

    bootstrap: str
    security: Security
    read_only: bool
    alone: bool


class Job(NamedTuple):
    """A function of a module, called as `work(*args, bounds)` under the rules of a page."""

    work: Callable[..., Any]
    args: tuple[Any, ...]
    bounds: Bounds
    way: Way


class Outcome(NamedTuple):
    """The result of a job, the error that it has ended with, or the traceback of an error of ours."""

    result: Any = None
    error: CommandError | None = None
    traceback: str = ""


class SearchFailed(Exception):
    """An error of ours in the process of a search: its traceback there."""


def result_of(outcome: Outcome) -> Any:
    """Return the result of a job, or raise its error.  Raises: CommandError, SearchFailed."""
    if outcome.error is not None:
        raise outcome.error
    if outcome.traceback:
        raise SearchFailed(outcome.traceback)
    return outcome.result


def packed(outcome: Outcome) -> bytes:
    """Return the bytes of an outcome; an error that cannot be sent as it is keeps its sentence."""
    if outcome.error is not None:
        outcome = outcome._replace(error=_plain(outcome.error))
    return pickle.dumps(outcome)


def _plain(error: CommandError) -> CommandError:
    """Return an error that can be sent: without what was around it."""
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own bytes)
    except (TypeError, AttributeError, pickle.PicklingError):
        return CommandError(str(error))
    return error if type(again) is type(error) else CommandError(str(error))


def unpacked(data: bytes) -> Any:
    """Return a message of the other process."""
    return pickle.loads(data)  # noqa: S301  (written by a process that we have started)
