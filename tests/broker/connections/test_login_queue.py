"""Checks of passwords run one at a time, and no address waits for all checks of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from broker.connections.login_queue import LoginQueue, Result
from broker.loop.loop import Loop
from broker.security.sasl_exchange import Accepted, LoginRefused

Done = Callable[[Exception | None], None]


class Threads:
    """A loop whose thread works when the test says so."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Callable[[], object], Done]] = []
        self.scheduler = self

    def offload(self, work: Callable[[], object], done: Done) -> None:
        self.tasks.append((work, done))

    def work(self) -> None:
        (task,) = self.tasks
        self.tasks.clear()
        error = None
        try:
            task[0]()
        except ZeroDivisionError as failure:
            error = failure
        task[1](error)


class World:
    """A queue, and the results in their order."""

    def __init__(self) -> None:
        self.threads = Threads()
        self.queue = LoginQueue(cast("Loop", self.threads))
        self.results: list[tuple[str, Result]] = []
        self.left: set[str] = set()

    def check(self, host: str, name: str, work: Callable[[], Any] | None = None) -> None:
        self.queue.check(
            host,
            work or (lambda: Accepted(name)),
            lambda result: self.results.append((name, result)),
            wanted=lambda: name not in self.left,
        )

    def finish(self) -> list[str]:
        while self.threads.tasks:
            self.threads.work()
        return [name for name, _ in self.results]


def test_an_address_with_many_checks_does_not_delay_another() -> None:
    world = World()
    for number in range(1_000):
        world.check("bad", f"bad-{number}")
    world.check("good", "good")
    assert len(world.threads.tasks) == 1
    assert world.finish().index("good") <= 2


def test_checks_of_clients_that_have_left_are_not_made() -> None:
    world = World()
    made: list[str] = []

    def check(name: str) -> None:
        def work() -> Accepted:
            made.append(name)
            return Accepted(name)

        world.check("a", name, work)

    for name in ("first", "left", "last"):
        check(name)
    world.left.update({"left", "first"})
    assert world.finish() == ["last"]
    assert made == ["first", "last"]


def test_a_refusal_is_a_result_and_the_next_check_follows() -> None:
    world = World()

    def refuse() -> Accepted:
        raise LoginRefused("wrong")

    world.check("a", "wrong", refuse)
    world.check("a", "right")
    assert world.finish() == ["wrong", "right"]
    assert isinstance(world.results[0][1], LoginRefused)


def test_a_fault_of_a_check_refuses_and_the_next_check_follows() -> None:
    world = World()
    world.check("a", "fault", lambda: 1 // 0)
    world.check("a", "right")
    assert world.finish() == ["fault", "right"]
    assert isinstance(world.results[0][1], LoginRefused)
