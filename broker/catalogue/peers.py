"""The requests of a node to other nodes of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol

from broker.loop.slices import Until


class Peers(Protocol):
    """The other nodes of a cluster."""

    def call(self, node_id: int, request: Any, version: int, done: Callable[[Any | None], None]) -> None:
        """Send a request to another node; `done(response)` is called in a later turn.

        `done(None)`: the node cannot be reached, or has gone before it answered; it may have done what it was
        asked for.
        """


class NoPeers:
    """The other nodes of a node that is alone."""

    def call(self, node_id: int, request: Any, version: int, done: Callable[[Any | None], None]) -> None:
        """Fail: there is none."""
        raise AssertionError(f"there is no node {node_id}: {type(request).__name__} {version}, {done}")


def answer_of(peers: Peers, node_id: int, request: Any, version: int) -> Generator[Until, None, Any | None]:
    """Return another node's answer to a request; None as in `Peers.call`."""
    answers: list[Any | None] = []
    resumes: list[Callable[[], None]] = []

    def done(response: Any | None) -> None:
        answers.append(response)
        for resume in resumes:
            resume()

    def wait(resume: Callable[[], None]) -> None:
        resumes.append(resume)
        if answers:
            resume()

    peers.call(node_id, request, version, done)
    yield Until(wait)
    return answers[0]
