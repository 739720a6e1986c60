"""Peers: an answer that is there at once, and one that comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.catalogue.peers import answer_of


class Later:
    """Peers that answer when the test says so, or at once."""

    def __init__(self, at_once: Any = None) -> None:
        self.at_once = at_once
        self.waiting: list[Callable[[Any], None]] = []

    def call(self, node_id: int, request: Any, version: int, done: Callable[[Any | None], None]) -> None:
        if self.at_once is not None:
            done(self.at_once)
        else:
            self.waiting.append(done)


def run(peers: Later, answer: Any = None) -> tuple[Any, int]:
    """Run the steps and return the answer and how often they were resumed."""
    resumed: list[None] = []
    steps = answer_of(peers, 2, "request", 0)
    until = next(steps)
    until.start(lambda: resumed.append(None))
    for done in peers.waiting:
        done(answer)
    try:
        next(steps)
    except StopIteration as end:
        return end.value, len(resumed)
    raise AssertionError("the steps wait again")


def test_an_answer_that_comes_later_resumes_once() -> None:
    assert run(Later(), "answer") == ("answer", 1)


def test_an_answer_that_was_there_first_resumes_once() -> None:
    assert run(Later("answer")) == ("answer", 1)


def test_no_answer_is_none() -> None:
    assert run(Later(), None) == (None, 1)
