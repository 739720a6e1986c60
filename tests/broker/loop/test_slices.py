"""Steps: long work in slices, short work in one go."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.loop.slices import (
    ITEMS_PER_SLICE,
    ITEMS_PER_STEP,
    PLAIN_ITEMS_PER_STEP,
    Steps,
    Until,
    WaitingSteps,
    all_here,
    at_once,
    chunks,
    emptied,
    in_order,
    in_pairs,
    in_slices,
    in_thread,
    made_of,
    or_again,
    outcome_of,
    run_here,
    taken_in_threads,
)


def steps(count: int, response: object, done: list[int] | None = None) -> Steps:
    """Yield `count` slices, then return the response."""
    for number in range(count):
        if done is not None:
            done.append(number)
        yield
    return response


def test_steps_in_pairs_rest_after_every_second_one() -> None:
    done: list[int] = []
    seen = []

    def wrapped() -> WaitingSteps:
        made = yield from in_pairs(steps(5, "made", done))
        seen.append(made)

    for _ in wrapped():
        seen.append(len(done))
    assert (seen, len(done)) == ([2, 4, "made"], 5)


def test_few_items_are_handled_in_one_go() -> None:
    assert in_slices(steps(3, "answer"), ITEMS_PER_SLICE) == "answer"
    many = in_slices(steps(3, "answer"), ITEMS_PER_SLICE + 1)
    assert next(many) is None


@pytest.mark.parametrize(("count", "slice_count"), [(0, 0), (2, 0), (3, 1), (7, 2), (9, 3)])
def test_items_are_made_in_slices(count: int, slice_count: int) -> None:
    double: Callable[[int], int] = lambda number: 2 * number  # noqa: E731
    making = made_of(range(count), double, per_step=3)
    for _ in range(slice_count):
        next(making)
    with pytest.raises(StopIteration) as end:
        next(making)
    assert end.value.value == [2 * number for number in range(count)]


def test_chunks_cover_everything_once() -> None:
    items = list(range(2 * ITEMS_PER_STEP + 1))
    assert [len(chunk) for chunk in chunks(items)] == [ITEMS_PER_STEP, ITEMS_PER_STEP, 1]
    assert [item for chunk in chunks(items) for item in chunk] == items
    assert list(chunks([])) == []


def test_what_waits_is_left_to_the_scheduler_however_few_the_items() -> None:
    def waiting() -> WaitingSteps:
        yield None
        yield Until(lambda resume: resume())
        return "answer"

    steps = in_slices(waiting(), 1)
    waits = next(steps)
    assert isinstance(waits, Until)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "answer"


def test_work_in_a_thread_returns_its_result_or_raises_its_error() -> None:
    done: list[object] = []

    def steps(work: Callable[[], object]) -> WaitingSteps:
        done.append((yield from in_thread(run_here, work)))

    for waits in steps(lambda: 7):
        assert waits is not None
        waits.start(lambda: done.append("resumed"))
    assert done == ["resumed", 7]

    def broken() -> object:
        raise ZeroDivisionError

    failing = steps(broken)
    waits = next(failing)
    assert waits is not None
    waits.start(lambda: None)
    with pytest.raises(ZeroDivisionError):
        next(failing)


def test_an_error_in_a_thread_is_judged_where_it_is_raised_again_and_not_by_the_thread() -> None:
    seen: list[Exception | None] = []

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        def noted(error: Exception | None) -> None:
            seen.append(error)
            done(error)

        run_here(work, noted)

    def broken() -> object:
        raise ValueError("foreseen: what a client sent cannot be read")

    waits = next(failing := in_thread(offload, broken))
    waits.start(lambda: None)
    with pytest.raises(ValueError, match="foreseen"):
        next(failing)
    assert seen == [None]


def test_regular_work_that_raises_arranges_its_next_time_and_then_raises() -> None:
    def broken() -> Steps:
        yield
        raise ValueError("a bug")

    again: list[int] = []
    with pytest.raises(ValueError, match="a bug"):
        list(or_again(broken(), lambda: again.append(1)))
    assert again == [1]
    assert list(or_again(steps(2, "done"), lambda: again.append(2))) == [None, None]
    assert again == [1]


@given(st.lists(st.text(max_size=3), max_size=2_000))
def test_names_are_given_once_and_in_order(names: list[str]) -> None:
    assert at_once(in_order(names)) == sorted(set(names))


def test_many_names_are_put_in_order_with_pauses() -> None:
    names = [f"{number}" for number in range(10 * PLAIN_ITEMS_PER_STEP)]
    assert len(list(in_order(names))) == 2 * 10


def test_collections_are_emptied_with_pauses() -> None:
    count = 2 * PLAIN_ITEMS_PER_STEP + 1
    numbers, names, places = list(range(count)), dict.fromkeys(range(count)), set(range(count))
    assert len(list(emptied(numbers, names, places))) == 3 * 3
    assert (numbers, names, places) == ([], {}, set())


def test_the_outcome_of_a_change_is_returned_when_it_is_told_later_or_at_once() -> None:
    told = list[Callable[[str], None]]()
    resumed = list[bool]()
    steps = outcome_of(told.append)
    next(steps).start(lambda: resumed.append(True))
    assert not resumed
    told[0]("later")
    assert resumed == [True]
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "later"

    def begin(done: Callable[[str], None]) -> None:
        done("now")

    with pytest.raises(StopIteration) as end:
        next(outcome_of(begin))
    assert end.value.value == "now"


def test_an_outcome_that_comes_before_the_steps_have_had_their_turn_is_not_missed() -> None:
    told = list[Callable[[str], None]]()
    resumed = list[bool]()
    steps = outcome_of(told.append)
    waits = next(steps)
    told[0]("early")
    waits.start(lambda: resumed.append(True))
    assert resumed == [True]
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "early"


def test_steps_that_are_taken_in_threads_return_what_they_return_or_raise_their_error() -> None:
    taken: list[int] = []

    def steps(end: int) -> Steps:
        for number in range(3):
            taken.append(number)
            yield
            assert number < end, "not so far"
        return "done"

    assert all_here(taken_in_threads(run_here, steps(3))) == "done"
    assert taken == [0, 1, 2]
    with pytest.raises(AssertionError, match="not so far"):
        all_here(taken_in_threads(run_here, steps(1)))
