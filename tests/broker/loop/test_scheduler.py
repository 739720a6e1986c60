"""The scheduler: slices in turn; work ends with its client or with its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from broker.loop.call import PARKED, Call
from broker.loop.internal_errors import InternalErrors
from broker.loop.scheduler import Scheduler
from broker.loop.slices import Steps, Until, WaitingSteps, finished
from broker.loop.turns import Turns, Work


class FakeConnection:
    """A connection that collects answers."""

    def __init__(self) -> None:
        self.closed = False
        self.answers: list[object] = []
        self.parked = 0
        self.sliced_ns = 0

    def answer_in_thread(self, _call: object, response: object, _offload: object) -> None:
        self.answers.append(response)

    def work_done(self, _call: object) -> None:
        self.parked += 1


class FakeCall:
    """A call of such a connection."""

    def __init__(self) -> None:
        self.connection = FakeConnection()
        self.work = Work("test")
        self.local_ns = 0

    def reply_in_thread(self, response: object, offload: object) -> None:
        self.connection.answer_in_thread(self, response, offload)


def make_call() -> Any:
    return FakeCall()


def steps(count: int, response: object, done: list[int] | None = None) -> Steps:
    """Yield `count` slices, then return the response."""
    for number in range(count):
        if done is not None:
            done.append(number)
        yield
    return response


@pytest.fixture
def failed() -> list[Call[Any]]:
    """Return the calls whose steps raised."""
    return []


@pytest.fixture
def scheduler(failed: list[Call[Any]]) -> Scheduler:
    """Return the scheduler under test."""
    return Scheduler(lambda call, _error: failed.append(call), InternalErrors())


def run_all(scheduler: Scheduler) -> int:
    count = 0
    while scheduler.pending:
        scheduler.run()
        count += 1
    return count


def test_an_answer_is_given_after_its_last_slice(scheduler: Scheduler) -> None:
    call = make_call()
    scheduler.begin(call, steps(3, "answer"))
    assert (scheduler.pending, call.connection.answers) == (True, [])
    assert run_all(scheduler) == 3
    assert call.connection.answers == ["answer"]
    scheduler.run()


def test_the_first_slice_runs_at_once(scheduler: Scheduler) -> None:
    done: list[int] = []
    scheduler.begin(make_call(), steps(2, "answer", done))
    assert done == [0]


def test_an_answer_without_slices_is_given_at_once(scheduler: Scheduler) -> None:
    call = make_call()
    scheduler.begin(call, finished("answer"))
    assert call.connection.answers == ["answer"]
    assert not scheduler.pending


def test_long_answers_take_turns(scheduler: Scheduler) -> None:
    order: list[str] = []

    def named(name: str) -> Steps:
        for _ in range(3):
            order.append(name)
            yield
        return name

    scheduler.begin(make_call(), named("a"))
    scheduler.begin(make_call(), named("b"))
    run_all(scheduler)
    assert "".join(order) == "aababb"


def test_the_first_slice_of_an_answer_waits_where_others_wait(scheduler: Scheduler) -> None:
    done: list[int] = []
    scheduler.add_work(steps(2, None))
    scheduler.begin(make_call(), steps(2, "answer", done))
    assert done == []
    scheduler.run()
    scheduler.run()
    assert done == [0]


@pytest.mark.parametrize(
    ("step_us", "ran"), [(500, [0, 1, 2, 0, 1, 2]), (1_000, [0, 1, 2]), (2_000, [0, 1]), (9_000, [0])]
)
def test_a_turn_has_steps_of_each_in_turn_as_long_as_there_is_time(
    scheduler: Scheduler, step_us: int, ran: list[int]
) -> None:
    now_ns, done = 0, list[int]()

    def endless(number: int) -> Steps:
        nonlocal now_ns
        while True:
            done.append(number)
            now_ns += step_us * 1_000
            yield

    for number in range(3):
        scheduler.add_work(endless(number))
    scheduler.run_some(lambda: now_ns, share_ns=3_000_000)
    assert done == ran


def test_slices_count_for_their_client_but_not_the_first_one_which_is_a_part_of_its_service() -> None:
    clock = [1]

    def take(slices: int, each_ns: int) -> Steps:
        for _ in range(slices):
            clock[0] += each_ns
            yield
        return "answer"

    turns = Turns(lambda: clock[0])
    scheduler = Scheduler(lambda _call, _error: None, InternalErrors(), turns=turns)
    calls = [make_call(), make_call()]
    scheduler.begin(calls[0], take(3, 500))
    scheduler.begin(calls[1], take(2, 70))
    scheduler.add_work(take(1, 9_000))
    while scheduler.pending:
        scheduler.run_some(lambda: clock[0], 0)
    assert [call.connection.sliced_ns for call in calls] == [2 * 500, 2 * 70]


def test_an_answer_may_be_left_to_somebody_else(scheduler: Scheduler) -> None:
    call = make_call()
    scheduler.begin(call, steps(1, PARKED))
    run_all(scheduler)
    assert call.connection.answers == []


def test_the_work_ends_when_the_client_leaves(scheduler: Scheduler) -> None:
    call, done = make_call(), list[int]()
    scheduler.begin(call, steps(100, "answer", done))
    call.connection.closed = True
    assert run_all(scheduler) == 1
    assert done == [0]
    assert call.connection.answers == []


def test_a_fault_of_our_own_ends_only_its_own_answer(scheduler: Scheduler, failed: list[Call[Any]]) -> None:
    def broken() -> Steps:
        yield
        raise ValueError("a bug")

    call, other = make_call(), make_call()
    scheduler.begin(call, broken())
    scheduler.begin(other, steps(3, "answer"))
    run_all(scheduler)
    assert failed == [call]
    assert other.connection.answers == ["answer"]


def test_logging_is_left_to_the_broker(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Steps:
        yield from ()
        raise ValueError("a bug")

    with caplog.at_level(logging.DEBUG):
        scheduler.begin(make_call(), broken())
    assert caplog.text == ""


def test_steps_that_wait_need_no_turns_until_they_are_resumed(scheduler: Scheduler) -> None:
    resumes: list[Callable[[], None]] = []

    def waiting() -> WaitingSteps:
        yield None
        yield Until(resumes.append)
        return "answer"

    call = make_call()
    scheduler.begin(call, waiting())
    scheduler.run()
    assert (scheduler.pending, call.connection.answers) == (False, [])
    resumes[0]()
    assert scheduler.pending
    scheduler.run()
    assert call.connection.answers == ["answer"]


def test_steps_may_be_resumed_before_they_wait(scheduler: Scheduler) -> None:
    """A thread may be done at once."""

    def waiting() -> WaitingSteps:
        yield Until(lambda resume: resume())
        return "answer"

    call = make_call()
    scheduler.begin(call, waiting())
    assert run_all(scheduler) == 1
    assert call.connection.answers == ["answer"]


def test_a_client_that_leaves_while_its_steps_wait_ends_them(scheduler: Scheduler) -> None:
    resumes: list[Callable[[], None]] = []

    def waiting() -> WaitingSteps:
        yield Until(resumes.append)
        raise AssertionError("the client has left")

    call = make_call()
    scheduler.begin(call, waiting())
    call.connection.closed = True
    resumes[0]()
    run_all(scheduler)
    assert call.connection.answers == []


def test_what_a_turn_left_over_comes_before_all_that_waits(scheduler: Scheduler) -> None:
    order: list[str] = []

    def long_work(name: str) -> Steps:
        for _ in range(3):
            order.append(name)
            yield

    for name in "abc":
        scheduler.add_work(long_work(name))
    scheduler.run()
    scheduler.first(lambda: order.append("first"))
    assert scheduler.pending
    run_all(scheduler)
    assert order[:4] == ["a", "first", "b", "c"]


def test_however_much_comes_first_one_slice_of_long_work_is_run(scheduler: Scheduler) -> None:
    now_ns, order = 0, list[str]()

    def first() -> None:
        nonlocal now_ns
        now_ns += 600_000
        order.append("first")
        scheduler.first(first)

    def long_work() -> Steps:
        nonlocal now_ns
        while True:
            now_ns += 600_000
            order.append("long")
            yield

    for _ in range(5):
        scheduler.first(first)
    scheduler.add_work(long_work())
    for _ in range(3):
        scheduler.run_some(lambda: now_ns, 1_000_000)
    assert order == ["first", "first", "long"] * 3


def test_a_short_piece_that_raises_keeps_no_other_waiting(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def broken() -> None:
        raise ValueError("a bug")

    scheduler.first(broken)
    scheduler.first(lambda: done.append("other"))
    run_all(scheduler)
    assert done == ["other"]
    assert "a bug" in caplog.text


def test_the_short_pieces_that_wait_are_counted_as_work_in_the_background(scheduler: Scheduler) -> None:
    scheduler.first(lambda: None)
    assert scheduler.waiting() == {"background": 1}
    run_all(scheduler)
    assert not scheduler.waiting()
