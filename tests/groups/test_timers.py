"""Tests of groups/timers.py."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groups.timers import CORRECTED_AT_ONCE, Action, TimerKey, Timers

A, B = TimerKey("a", "g"), TimerKey("b", "g", "m")


def test_due_actions_run_in_the_order_of_their_deadlines() -> None:
    timers, ran = Timers(), list[tuple[str, int]]()
    timers.set(A, 20, lambda now_ms: ran.append(("a", now_ms)))
    timers.set(B, 10, lambda now_ms: ran.append(("b", now_ms)))
    timers.run_due(9)
    assert ran == []
    timers.run_due(25)
    assert ran == [("b", 25), ("a", 25)]
    assert len(timers) == 0
    assert timers.next_deadline() is None


def test_a_timer_that_is_moved_ahead_runs_at_its_new_deadline_only() -> None:
    timers, ran = Timers(), list[int]()
    timers.set(A, 10, ran.append)
    timers.set(A, 30, ran.append)
    timers.run_due(29)
    assert ran == []
    assert timers.deadline(A) == 30
    timers.run_due(30)
    assert ran == [30]


def test_a_timer_can_be_moved_nearer() -> None:
    timers, ran = Timers(), list[int]()
    timers.set(A, 30, ran.append)
    timers.set(A, 10, ran.append)
    assert timers.next_deadline() == 10
    timers.run_due(10)
    timers.run_due(30)
    assert ran == [10]


def test_a_cancelled_timer_never_runs() -> None:
    timers, ran = Timers(), list[int]()
    timers.set(A, 10, ran.append)
    timers.cancel(A)
    timers.cancel(A)
    assert A not in timers
    timers.run_due(50)
    assert ran == []


def test_set_once_keeps_a_timer_that_is_set() -> None:
    timers, ran = Timers(), list[int]()
    timers.set_once(A, 10, ran.append)
    timers.set_once(A, 5, ran.append)
    timers.run_due(9)
    assert ran == []
    timers.run_due(10)
    assert ran == [10]


def test_an_action_may_set_its_timer_again() -> None:
    timers, ran = Timers(), list[int]()

    def again(now_ms: int) -> None:
        ran.append(now_ms)
        if now_ms < 30:
            timers.set(A, now_ms + 10, again)

    timers.set(A, 10, again)
    for now_ms in (10, 20, 30, 40):
        timers.run_due(now_ms)
    assert ran == [10, 20, 30]


def test_moving_a_timer_ahead_does_not_grow_the_heap() -> None:
    timers = Timers()
    for now_ms in range(0, 300_000, 3):
        timers.set(A, now_ms + 10_000, lambda _: None)
        timers.run_due(now_ms)
    assert len(timers._heap) == 1


def noting(ran: list[int], name: int) -> Action:
    return lambda _: ran.append(name)


operations = st.tuples(
    st.sampled_from(["set", "set_once", "cancel", "run"]), st.integers(0, 3), st.integers(1, 20)
)


@given(st.lists(operations, max_size=60))
def test_timers_are_a_dictionary_of_deadlines(steps: list[tuple[str, int, int]]) -> None:
    timers, model, ran = Timers(), dict[int, int](), list[int]()
    now_ms = 0
    for what, name, delay_ms in steps:
        key = TimerKey("k", str(name))
        if what == "run":
            now_ms += delay_ms
            ran.clear()
            timers.run_due(now_ms)
            due = sorted(
                (deadline_ms, timer) for timer, deadline_ms in model.items() if deadline_ms <= now_ms
            )
            assert sorted(ran) == sorted(timer for _, timer in due)
            for _, timer in due:
                del model[timer]
        elif what == "cancel":
            timers.cancel(key)
            model.pop(name, None)
        elif what == "set" or name not in model:
            timers.set(key, now_ms + delay_ms, noting(ran, name))
            model[name] = now_ms + delay_ms
        else:
            timers.set_once(key, now_ms + delay_ms, noting(ran, name))
        next_ms = timers.next_deadline()
        assert next_ms == min(model.values(), default=None)


def test_a_timer_that_raises_is_over_and_the_others_run() -> None:
    timers, ran, failed = Timers(), list[str](), list[tuple[TimerKey, str]]()

    def broken(_now_ms: int) -> None:
        raise ZeroDivisionError("broken")

    timers.set(TimerKey("session", "g", "a"), 1, broken)
    timers.set(TimerKey("session", "g", "b"), 2, lambda _now_ms: ran.append("b"))
    timers.run_due(5, lambda key, error: failed.append((key, str(error))))
    assert (ran, failed) == (["b"], [(TimerKey("session", "g", "a"), "broken")])
    assert timers.next_deadline() is None


def test_of_very_many_due_timers_some_run_at_once_and_the_others_stay_due() -> None:
    timers, ran = Timers(), list[int]()
    for number in range(100):
        timers.set(TimerKey("k", str(number)), 10, noting(ran, number))
    timers.run_due(10, at_most=30)
    assert len(ran) == 30
    assert timers.next_deadline() == 10
    timers.run_due(10, at_most=100)
    assert sorted(ran) == list(range(100))


def test_a_look_at_the_deadline_puts_no_more_moved_timers_in_their_places_than_a_turn_has_time_for() -> None:
    """Bug: 1,000 at each of three looks were a turn of 22 ms of processor on a slow machine."""
    timers = Timers()
    for number in range(10_000):
        timers.set(TimerKey("session", "g", str(number)), 10, lambda _: None)
        timers.set(TimerKey("session", "g", str(number)), 1_000, lambda _: None)
    for looks in range(1, 4):
        assert timers.next_deadline() == 10
        in_place = sum(queued_ms == 1_000 for queued_ms, _, _ in timers._heap)
        assert in_place <= 200 * looks


def test_very_many_moved_timers_are_put_in_their_places_some_at_a_time() -> None:
    timers, ran = Timers(), list[int]()
    count = 3 * CORRECTED_AT_ONCE
    for number in range(count):
        timers.set(TimerKey("session", "g", str(number)), 10, ran.append)
        timers.set(TimerKey("session", "g", str(number)), 1_000, ran.append)
    calls = 0
    while (due_ms := timers.next_deadline()) is not None and due_ms <= 10:
        timers.run_due(10)
        calls += 1
    assert 1 <= calls <= 3
    assert ran == []
    assert timers.next_deadline() == 1_000
    while timers.next_deadline() == 1_000:
        timers.run_due(1_000)
    assert len(ran) == count
