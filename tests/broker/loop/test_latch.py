"""A latch gives its one value to who waits, or nothing once the time is up."""

from __future__ import annotations

from typing import Any

from broker.loop.internal_errors import InternalErrors
from broker.loop.latch import Latch
from broker.loop.timers import Timers


def waiting(latch: Latch[str], timers: Timers, resumed: list[str]) -> Any:
    steps = latch.wait(timers, 100)
    next(steps).start(lambda: resumed.append("resumed"))
    return steps


def result_of(steps: Any) -> Any:
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise AssertionError("the steps go on")


def test_a_value_resumes_who_waits_and_leaves_no_timer() -> None:
    latch, timers, resumed = Latch[str](), Timers(InternalErrors()), list[str]()
    steps = waiting(latch, timers, resumed)
    latch.set("a")
    latch.set("b")
    assert resumed == ["resumed"]
    assert result_of(steps) == ["a"]
    assert len(timers) == 0


def test_a_value_that_is_there_is_not_waited_for() -> None:
    latch = Latch[str]()
    latch.set("a")
    assert result_of(latch.wait(Timers(InternalErrors()), 100)) == ["a"]


def test_the_end_of_the_time_resumes_once_without_a_value() -> None:
    latch, timers, resumed = Latch[str](), Timers(InternalErrors()), list[str]()
    waiting(latch, timers, resumed)
    timers.run_due(99)
    assert resumed == []
    timers.run_due(100)
    latch.set("late")
    assert resumed == ["resumed"]
