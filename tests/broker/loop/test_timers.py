"""Timers run in the order of their time, unless they are cancelled."""

from broker.loop.internal_errors import InternalErrors
from broker.loop.timers import SHARE_NS, Timers


def test_deadlines_run_in_the_order_of_their_time() -> None:
    timers = Timers(InternalErrors())
    ran: list[str] = []
    timers.add(20, lambda _now: ran.append("late"))
    timers.add(10, lambda _now: ran.append("early"))
    timers.add(10, lambda _now: ran.append("early too"))
    timers.run_due(30)
    assert ran == ["early", "early too", "late"]


def test_a_cancelled_deadline_never_runs_and_is_not_waited_for() -> None:
    timers = Timers(InternalErrors())
    ran: list[str] = []
    first = timers.add(10, lambda _now: ran.append("first"))
    timers.add(20, lambda _now: ran.append("second"))
    first.cancel()
    first.cancel()
    assert (len(timers), timers.next_deadline()) == (1, 20)
    timers.run_due(30)
    assert ran == ["second"]
    assert len(timers) == 0


def test_a_deadline_may_add_and_cancel_others_while_it_runs() -> None:
    timers = Timers(InternalErrors())
    ran: list[str] = []
    late = timers.add(10, lambda _now: ran.append("cancelled"))

    def first(now_ms: int) -> None:
        late.cancel()
        timers.add(now_ms, lambda _now: ran.append("added"))

    timers.add(5, first)
    timers.run_due(10)
    assert ran == ["added"]


def test_cancelled_deadlines_are_swept_out() -> None:
    timers = Timers(InternalErrors())
    kept = [timers.add(10_000 + number, lambda _now: None) for number in range(10)]
    for number in range(10_000):
        timers.add(20_000 + number, lambda _now: None).cancel()
    assert len(timers) == len(kept)
    assert len(timers._heap) < 200
    assert timers.next_deadline() == 10_000


def test_timers_that_are_due_at_once_take_no_more_than_their_share_of_a_turn() -> None:
    timers, ran = Timers(InternalErrors()), list[int]()
    now_ns = 0

    def action(_now_ms: int) -> None:
        nonlocal now_ns
        now_ns += SHARE_NS // 4
        ran.append(now_ns)

    for _ in range(10):
        timers.add(5, action)
    turns = []
    while timers.next_deadline() is not None:
        before = len(ran)
        timers.run_due(5, lambda: now_ns)
        turns.append(len(ran) - before)
    assert turns == [4, 4, 2]
