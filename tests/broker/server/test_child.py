"""Workers are heard line by line, and their ends are told in words."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from broker.server.child import Child, end_in_words


@pytest.fixture
def piped() -> Iterator[tuple[Child, int]]:
    reading, writing = os.pipe2(os.O_NONBLOCK)
    yield Child(1, os.getpid(), reading), writing
    os.close(reading)


def test_lines_are_whole_however_they_come(piped: tuple[Child, int]) -> None:
    child, writing = piped
    assert child.lines() == []
    os.write(writing, b"ready 127.0.0.1:1\nali")
    assert child.lines() == ["ready 127.0.0.1:1"]
    os.write(writing, b"ve\nalive\n")
    assert child.lines() == ["alive", "alive"]
    os.close(writing)
    assert child.lines() == []


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit status 0"), (3, "exit status 3"), (-signal.SIGKILL, "SIGKILL"), (-200, "signal 200")],
)
def test_an_end_is_named(status: int, words: str) -> None:
    assert end_in_words(status) == words
