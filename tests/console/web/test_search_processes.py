"""The processes of searches, as the console takes, tells and kills them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from console.errors import CommandError
from console.security import PLAIN
from console.web import search_processes
from console.web.search_bounds import Bounds
from console.web.search_job import LEAVE, Job, Outcome, Way, packed, unpacked
from console.web.search_processes import SearchProcesses


class Fake:
    """A process that answers as it is told to."""

    def __init__(self, answer: Callable[[Connection, Any], bool]) -> None:
        self.connection, self._theirs = Pipe()
        self.killed = False
        self.got: list[Any] = []
        self._answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                message = unpacked(self._theirs.recv_bytes())
                self.got.append(message)
                if not self._answer(self._theirs, message):
                    self._theirs.close()
                    return
        except (EOFError, OSError):
            return

    def kill(self) -> None:
        self.killed = True
        self.connection.close()


def echo(connection: Connection, message: Any) -> bool:
    if isinstance(message, Job):
        connection.send_bytes(packed(Outcome(message.args)))
    return True


def ends(_: Connection, __: Any) -> bool:
    return False


def ignores(_: Connection, __: Any) -> bool:
    return True


def obeys(connection: Connection, message: Any) -> bool:
    if message == LEAVE:
        connection.send_bytes(packed(Outcome("as far as it came")))
    return True


def a_job(*args: Any, bounds: Bounds | None = None) -> Job:
    return Job(print, args, bounds or Bounds(), Way("b:1", PLAIN, read_only=False, alone=False))


def left() -> Bounds:
    bounds = Bounds()
    bounds.leave()
    return bounds


def started_in_turn(*answers: Callable[[Connection, Any], bool]) -> tuple[list[Fake], SearchProcesses]:
    fakes: list[Fake] = []

    def start() -> Fake:
        fakes.append(Fake(answers[len(fakes)]))
        return fakes[-1]

    return fakes, SearchProcesses(start)


def test_a_process_is_kept_for_the_next_search() -> None:
    fakes, processes = started_in_turn(echo)
    assert processes.run(a_job(1)) == (1,)
    assert processes.run(a_job(2)) == (2,)
    assert len(fakes) == 1


def test_one_that_has_ended_meanwhile_is_replaced_and_a_new_one_that_ends_is_a_sentence() -> None:
    once: list[int] = []

    def only_once(connection: Connection, message: Any) -> bool:
        once.append(1)
        return len(once) == 1 and echo(connection, message)

    fakes, processes = started_in_turn(only_once, echo)
    assert processes.run(a_job(1)) == (1,)
    assert processes.run(a_job(2)) == (2,)
    assert [fake.killed for fake in fakes] == [True, False]
    fakes, processes = started_in_turn(ends)
    with pytest.raises(CommandError, match="has ended: search again"):
        processes.run(a_job(3))
    assert fakes[0].killed


def test_a_search_that_is_left_is_told_and_its_process_goes_on() -> None:
    fakes, processes = started_in_turn(obeys)
    assert processes.run(a_job(bounds=left())) == "as far as it came"
    assert fakes[0].got[-1] == LEAVE
    assert not fakes[0].killed


def test_one_that_does_not_end_when_it_is_told_to_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_processes, "LEAVE_SECONDS", 0.0)
    fakes, processes = started_in_turn(ignores, echo)
    with pytest.raises(CommandError, match="was stopped"):
        processes.run(a_job(bounds=left()))
    assert fakes[0].killed
    assert processes.run(a_job(2)) == (2,)


def test_more_searches_than_there_may_be_processes_wait_and_one_that_is_left_waits_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_processes, "PROCESSES_MAX", 1)
    fakes, processes = started_in_turn(obeys)
    first = Bounds()
    thread = threading.Thread(target=processes.run, args=[a_job(bounds=first)])
    thread.start()
    while not fakes or not fakes[0].got:
        thread.join(0.001)
    with pytest.raises(CommandError, match="before its turn"):
        processes.run(a_job(bounds=left()))
    first.leave()
    thread.join(60)
    assert not thread.is_alive()


def test_an_error_of_the_search_leaves_its_process_free() -> None:
    def fails(connection: Connection, _: Any) -> bool:
        connection.send_bytes(pickle.dumps(Outcome(error=CommandError("no such topic"))))
        return True

    fakes, processes = started_in_turn(fails)
    for _ in range(2):
        with pytest.raises(CommandError, match="no such topic"):
            processes.run(a_job())
    assert len(fakes) == 1
    assert not fakes[0].killed
