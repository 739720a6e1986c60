"""Long answers are made a slice at a time, in turn, and end with their client or with its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from broker.loop.call import PARKED, Call
from broker.loop.slices import ITEMS_PER_SLICE, Slices, Steps, chunks, finished, in_pairs, in_slices, made_of


class FakeConnection:
    """Takes answers."""

    def __init__(self) -> None:
        self.closed = False
        self.answers: list[object] = []

    def answer_in_thread(self, _call: object, response: object, _offload: object) -> None:
        self.answers.append(response)


class FakeCall:
    """A call of such a connection."""

    def __init__(self) -> None:
        self.connection = FakeConnection()


def make_call() -> Any:
    return FakeCall()


def steps(count: int, response: object, done: list[int] | None = None) -> Steps:
    """So many slices and then the response."""
    for number in range(count):
        if done is not None:
            done.append(number)
        yield
    return response


@pytest.fixture
def failed() -> list[Call[Any]]:
    """Calls whose steps raised."""
    return []


@pytest.fixture
def slices(failed: list[Call[Any]]) -> Slices:
    """The slices under test."""
    return Slices(failed.append)


def run_all(slices: Slices) -> int:
    count = 0
    while slices.pending:
        slices.run()
        count += 1
    return count


def test_an_answer_is_given_after_its_last_slice(slices: Slices) -> None:
    call = make_call()
    slices.begin(call, steps(3, "answer"))
    assert (slices.pending, call.connection.answers) == (True, [])
    assert run_all(slices) == 3
    assert call.connection.answers == ["answer"]
    slices.run()


def test_the_first_slice_runs_at_once(slices: Slices) -> None:
    done: list[int] = []
    slices.begin(make_call(), steps(2, "answer", done))
    assert done == [0]


def test_an_answer_without_slices_is_given_at_once(slices: Slices) -> None:
    call = make_call()
    slices.begin(call, finished("answer"))
    assert call.connection.answers == ["answer"]
    assert not slices.pending


def test_long_answers_take_turns(slices: Slices) -> None:
    order: list[str] = []

    def named(name: str) -> Steps:
        for _ in range(3):
            order.append(name)
            yield
        return name

    slices.begin(make_call(), named("a"))
    slices.begin(make_call(), named("b"))
    run_all(slices)
    assert "".join(order) == "aababb"


def test_the_first_slice_of_an_answer_waits_where_others_wait(slices: Slices) -> None:
    done: list[int] = []
    slices.add_work(steps(2, None))
    slices.begin(make_call(), steps(2, "answer", done))
    assert done == []
    slices.run()
    slices.run()
    assert done == [0]


@pytest.mark.parametrize(("slice_ms", "ran"), [(0, 5), (1, 3), (2, 2), (9, 1)])
def test_a_turn_has_a_slice_of_each_as_long_as_there_is_time(slices: Slices, slice_ms: int, ran: int) -> None:
    now_ns, done = 0, list[int]()

    def one(number: int) -> Steps:
        nonlocal now_ns
        while True:
            done.append(number)
            now_ns += slice_ms * 1_000_000
            yield

    for number in range(5):
        slices.add_work(one(number))
    slices.run_some(lambda: now_ns)
    assert done == list(range(ran))


def test_steps_in_pairs_rest_after_every_second_one() -> None:
    done: list[int] = []
    seen = []

    def wrapped() -> Steps:
        made = yield from in_pairs(steps(5, "made", done))
        seen.append(made)

    for _ in wrapped():
        seen.append(len(done))
    assert (seen, len(done)) == ([2, 4, "made"], 5)


def test_an_answer_may_be_left_to_somebody_else(slices: Slices) -> None:
    call = make_call()
    slices.begin(call, steps(1, PARKED))
    run_all(slices)
    assert call.connection.answers == []


def test_the_work_ends_when_the_client_leaves(slices: Slices) -> None:
    call, done = make_call(), list[int]()
    slices.begin(call, steps(100, "answer", done))
    call.connection.closed = True
    assert run_all(slices) == 1
    assert done == [0]
    assert call.connection.answers == []


def test_a_fault_of_our_own_ends_only_its_own_answer(slices: Slices, failed: list[Call[Any]]) -> None:
    def broken() -> Steps:
        yield
        raise ValueError("a bug")

    call, other = make_call(), make_call()
    slices.begin(call, broken())
    slices.begin(other, steps(3, "answer"))
    run_all(slices)
    assert failed == [call]
    assert other.connection.answers == ["answer"]


def test_few_items_are_handled_in_one_go() -> None:
    assert in_slices(steps(3, "answer"), ITEMS_PER_SLICE) == "answer"
    many = in_slices(steps(3, "answer"), ITEMS_PER_SLICE + 1)
    assert next(many) is None


@pytest.mark.parametrize(("count", "slice_count"), [(0, 0), (2, 0), (3, 1), (7, 2), (9, 3)])
def test_items_are_made_in_slices(count: int, slice_count: int) -> None:
    double: Callable[[int], int] = lambda number: 2 * number  # noqa: E731
    making = made_of(range(count), double, per_slice=3)
    for _ in range(slice_count):
        next(making)
    with pytest.raises(StopIteration) as end:
        next(making)
    assert end.value.value == [2 * number for number in range(count)]


def test_chunks_cover_everything_once() -> None:
    items = list(range(2 * ITEMS_PER_SLICE + 1))
    assert [len(chunk) for chunk in chunks(items)] == [ITEMS_PER_SLICE, ITEMS_PER_SLICE, 1]
    assert [item for chunk in chunks(items) for item in chunk] == items
    assert list(chunks([])) == []


def test_logging_is_left_to_the_broker(slices: Slices, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Steps:
        yield from ()
        raise ValueError("a bug")

    with caplog.at_level(logging.DEBUG):
        slices.begin(make_call(), broken())
    assert caplog.text == ""
