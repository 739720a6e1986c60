"""Parked fetches are woken by bytes, by time, by deletion, and forgotten with their client."""

from typing import Any

from broker.loop.waiters import Deadlines, FetchWaiters, ParkedFetch


class FakeCall:
    """A call as far as waiting is concerned."""

    def __init__(self) -> None:
        self.holder: Any = None


def parked(
    waiters: FetchWaiters, streams: list[int], min_bytes: int, deadline_ms: int = 500
) -> tuple[ParkedFetch, list[int]]:
    resumed: list[int] = []
    call: Any = FakeCall()
    fetch = ParkedFetch(call, keys=streams, size_bytes=0, min_bytes=min_bytes, resume=resumed.append)
    waiters.park(fetch, deadline_ms=deadline_ms)
    return fetch, resumed


def test_a_fetch_is_woken_once_when_its_bytes_are_there() -> None:
    waiters = FetchWaiters(Deadlines())
    _, resumed = parked(waiters, [1, 2], min_bytes=100)
    waiters.advanced(1, 60, now_ms=10)
    assert resumed == []
    waiters.advanced(2, 40, now_ms=20)
    waiters.advanced(2, 40, now_ms=30)
    assert resumed == [20]
    assert len(waiters) == 0


def test_a_fetch_is_answered_at_its_deadline_without_data() -> None:
    deadlines = Deadlines()
    waiters = FetchWaiters(deadlines)
    _, resumed = parked(waiters, [1], min_bytes=1, deadline_ms=500)
    assert deadlines.next_deadline() == 500
    deadlines.run_due(499)
    assert resumed == []
    deadlines.run_due(500)
    assert resumed == [500]
    assert deadlines.next_deadline() is None


def test_data_on_other_streams_does_not_wake_a_fetch() -> None:
    waiters = FetchWaiters(Deadlines())
    _, resumed = parked(waiters, [1], min_bytes=1)
    waiters.advanced(2, 1000, now_ms=1)
    assert resumed == []


def test_a_fetch_of_a_client_that_is_gone_is_never_resumed() -> None:
    deadlines = Deadlines()
    waiters = FetchWaiters(deadlines)
    fetch, resumed = parked(waiters, [1], min_bytes=1)
    assert fetch.call.holder is waiters
    waiters.cancel(fetch.call)
    waiters.advanced(1, 10, now_ms=1)
    deadlines.run_due(10_000)
    assert resumed == []
    assert len(waiters) == 0


def test_deletion_wakes_the_fetches_of_its_streams_only() -> None:
    waiters = FetchWaiters(Deadlines())
    _, gone = parked(waiters, [1], min_bytes=1000)
    _, kept = parked(waiters, [2], min_bytes=1000)
    waiters.wake([1], now_ms=7)
    assert (gone, kept) == ([7], [])


def test_every_fetch_is_answered_at_the_end() -> None:
    waiters = FetchWaiters(Deadlines())
    _, first = parked(waiters, [1], min_bytes=1000)
    _, second = parked(waiters, [], min_bytes=1000)
    waiters.wake_all(now_ms=9)
    assert (first, second) == ([9], [9])


def test_deadlines_run_in_the_order_of_their_time() -> None:
    deadlines = Deadlines()
    ran: list[str] = []
    deadlines.add(20, lambda _now: ran.append("late"))
    deadlines.add(10, lambda _now: ran.append("early"))
    deadlines.add(10, lambda _now: ran.append("early too"))
    deadlines.run_due(30)
    assert ran == ["early", "early too", "late"]


def test_a_cancelled_deadline_never_runs_and_is_not_waited_for() -> None:
    deadlines = Deadlines()
    ran: list[str] = []
    first = deadlines.add(10, lambda _now: ran.append("first"))
    deadlines.add(20, lambda _now: ran.append("second"))
    first.cancel()
    first.cancel()
    assert (len(deadlines), deadlines.next_deadline()) == (1, 20)
    deadlines.run_due(30)
    assert ran == ["second"]
    assert len(deadlines) == 0


def test_a_deadline_may_add_and_cancel_others_while_it_runs() -> None:
    deadlines = Deadlines()
    ran: list[str] = []
    late = deadlines.add(10, lambda _now: ran.append("cancelled"))

    def first(now_ms: int) -> None:
        late.cancel()
        deadlines.add(now_ms, lambda _now: ran.append("added"))

    deadlines.add(5, first)
    deadlines.run_due(10)
    assert ran == ["added"]


def test_cancelled_deadlines_are_swept_out() -> None:
    deadlines = Deadlines()
    kept = [deadlines.add(10_000 + number, lambda _now: None) for number in range(10)]
    for number in range(10_000):
        deadlines.add(20_000 + number, lambda _now: None).cancel()
    assert len(deadlines) == len(kept)
    assert len(deadlines._heap) < 200
    assert deadlines.next_deadline() == 10_000


def test_waiting_fetches_hold_no_deadline_once_they_are_answered() -> None:
    deadlines = Deadlines()
    waiters = FetchWaiters(deadlines)
    parked(waiters, [1], min_bytes=1, deadline_ms=2**40)
    waiters.advanced(1, 5, now_ms=3)
    assert len(deadlines) == 0
    assert deadlines.next_deadline() is None


def test_a_fetch_that_waits_again_on_the_same_call_is_another_fetch() -> None:
    waiters = FetchWaiters(Deadlines())
    first, resumed = parked(waiters, [1], min_bytes=1)
    waiters.advanced(1, 5, now_ms=1)
    again = ParkedFetch(first.call, keys=[1], size_bytes=0, min_bytes=1, resume=resumed.append)
    waiters.park(again, deadline_ms=500)
    waiters.advanced(1, 5, now_ms=2)
    assert resumed == [1, 2]


def test_fetches_are_counted_by_what_they_wait_for() -> None:
    waiters = FetchWaiters(Deadlines())
    parked(waiters, [1, 2], min_bytes=1)
    parked(waiters, [2], min_bytes=1)
    assert [waiters.waiting_for(key) for key in (1, 2, 3)] == [1, 2, 0]
    waiters.advanced(2, 1, now_ms=1)
    assert [waiters.waiting_for(key) for key in (1, 2, 3)] == [0, 0, 0]
