"""Parked calls are resumed by bytes, by time or by deletion, and forgotten with their client."""

from collections.abc import Callable
from typing import Any

from broker.loop.internal_errors import InternalErrors
from broker.loop.timers import Timers
from broker.loop.turns import Work
from broker.loop.waiters import (
    AT_ONCE_MAX,
    KEYS_PER_STEP,
    LOOKED_AT_ONCE_MAX,
    RESUMED_PER_SLICE,
    ParkedCall,
    Waiters,
)


def fail(_call: object, error: Exception) -> None:
    raise error


def at_once(action: Callable[[], None]) -> None:
    action()


class FakeCall:
    """A call, as far as waiting needs one."""

    def __init__(self) -> None:
        self.holder: Any = None
        self.work = Work("test")
        self.local_ns = 0


def parked(
    waiters: Waiters, streams: list[int], min_bytes: int, deadline_ms: int = 500
) -> tuple[ParkedCall, list[int]]:
    resumed: list[int] = []
    call: Any = FakeCall()
    fetch = ParkedCall(call, keys=streams, size_bytes=0, min_bytes=min_bytes, resume=resumed.append)
    waiters.park(fetch, deadline_ms=deadline_ms)
    return fetch, resumed


def test_a_fetch_is_woken_once_when_its_bytes_are_there() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    _, resumed = parked(waiters, [1, 2], min_bytes=100)
    waiters.advanced(1, 60, now_ms=10)
    assert resumed == []
    waiters.advanced(2, 40, now_ms=20)
    waiters.advanced(2, 40, now_ms=30)
    assert resumed == [20]
    assert len(waiters) == 0


def test_a_fetch_is_answered_at_its_deadline_without_data() -> None:
    timers = Timers(InternalErrors())
    waiters = Waiters(timers, fail, at_once)
    _, resumed = parked(waiters, [1], min_bytes=1, deadline_ms=500)
    assert timers.next_deadline() == 500
    timers.run_due(499)
    assert resumed == []
    timers.run_due(500)
    assert resumed == [500]
    assert timers.next_deadline() is None


def test_data_on_other_streams_does_not_wake_a_fetch() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    _, resumed = parked(waiters, [1], min_bytes=1)
    waiters.advanced(2, 1000, now_ms=1)
    assert resumed == []


def test_a_fetch_of_a_client_that_is_gone_is_never_resumed() -> None:
    timers = Timers(InternalErrors())
    waiters = Waiters(timers, fail, at_once)
    fetch, resumed = parked(waiters, [1], min_bytes=1)
    assert fetch.call.holder is waiters
    waiters.cancel(fetch.call)
    waiters.advanced(1, 10, now_ms=1)
    timers.run_due(10_000)
    assert resumed == []
    assert len(waiters) == 0


def test_deletion_wakes_the_fetches_of_its_streams_only() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    _, gone = parked(waiters, [1], min_bytes=1000)
    _, kept = parked(waiters, [2], min_bytes=1000)
    waiters.wake([1], now_ms=7)
    assert (gone, kept) == ([7], [])


def test_a_deletion_resumes_very_many_calls_in_slices() -> None:
    soon: list[Callable[[], None]] = []
    waiters = Waiters(Timers(InternalErrors()), fail, soon.append)
    all_resumed = [parked(waiters, [number % 3], min_bytes=1000)[1] for number in range(3 * AT_ONCE_MAX)]
    waiters.wake([0, 1, 2], now_ms=7)
    assert sum(map(len, all_resumed)) == AT_ONCE_MAX
    soon.pop()()
    assert sum(map(len, all_resumed)) == AT_ONCE_MAX + RESUMED_PER_SLICE
    while soon:
        soon.pop()()
    assert all_resumed == [[7]] * len(all_resumed)


def test_a_log_start_that_moves_has_only_fetches_looked_at_that_say_whether_it_is_of_use() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    _, plain = parked(waiters, [1], min_bytes=1)
    asking, resumed = parked(waiters, [1], min_bytes=0)
    has_room = False
    asking.ready = lambda _key: has_room
    waiters.log_start_moved(1, now_ms=10)
    assert (plain, resumed) == ([], [])
    has_room = True
    waiters.log_start_moved(2, now_ms=20)
    waiters.log_start_moved(1, now_ms=30)
    assert (plain, resumed) == ([], [30])


def test_every_fetch_is_answered_at_the_end() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    _, first = parked(waiters, [1], min_bytes=1000)
    _, second = parked(waiters, [], min_bytes=1000)
    waiters.wake_all(now_ms=9)
    assert (first, second) == ([9], [9])


def test_waiting_fetches_hold_no_deadline_once_they_are_answered() -> None:
    timers = Timers(InternalErrors())
    waiters = Waiters(timers, fail, at_once)
    parked(waiters, [1], min_bytes=1, deadline_ms=2**40)
    waiters.advanced(1, 5, now_ms=3)
    assert len(timers) == 0
    assert timers.next_deadline() is None


def test_a_fetch_that_waits_again_on_the_same_call_is_another_fetch() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    first, resumed = parked(waiters, [1], min_bytes=1)
    waiters.advanced(1, 5, now_ms=1)
    again = ParkedCall(first.call, keys=[1], size_bytes=0, min_bytes=1, resume=resumed.append)
    waiters.park(again, deadline_ms=500)
    waiters.advanced(1, 5, now_ms=2)
    assert resumed == [1, 2]


def test_fetches_are_counted_by_what_they_wait_for() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    parked(waiters, [1, 2], min_bytes=1)
    parked(waiters, [2], min_bytes=1)
    assert [waiters.waiting_for(key) for key in (1, 2, 3)] == [1, 2, 0]
    waiters.advanced(2, 1, now_ms=1)
    assert [waiters.waiting_for(key) for key in (1, 2, 3)] == [0, 0, 0]


def test_an_append_that_many_wait_for_resumes_most_of_them_in_slices() -> None:
    later: list[Callable[[], None]] = []
    waiters = Waiters(Timers(InternalErrors()), fail, later.append)
    fetches = [parked(waiters, [1], min_bytes=1) for _ in range(AT_ONCE_MAX + 3)]
    waiters.advanced(1, 10, now_ms=5)
    assert [resumed for _, resumed in fetches] == [[5]] * AT_ONCE_MAX + [[]] * 3
    # A client that leaves is not resumed, and none is resumed twice.
    waiters.cancel(fetches[-1][0].call)
    waiters.advanced(1, 10, now_ms=6)
    for action in later:
        action()
    assert [resumed for _, resumed in fetches[AT_ONCE_MAX:]] == [[6], [6], []]
    assert len(waiters) == 0


def test_a_crowd_that_waits_is_counted_and_resumed_a_part_at_a_time() -> None:
    later: list[Callable[[], None]] = []
    waiters = Waiters(Timers(InternalErrors()), fail, later.append)
    crowd = [parked(waiters, [1], min_bytes=30) for _ in range(LOOKED_AT_ONCE_MAX + 10)]
    for size_bytes in (10, 15):
        waiters.advanced(1, size_bytes, now_ms=5)
        assert len(later) == 1, "one piece of work for all of them, not one each"
        later.pop()()
    assert {call.size_bytes for call, _ in crowd} == {25}
    waiters.advanced(1, 5, now_ms=6)
    counts = [AT_ONCE_MAX]
    while later:
        before = len(waiters)
        later.pop()()
        counts.append(before - len(waiters))
    assert max(counts[1:]) == RESUMED_PER_SLICE
    assert [resumed for _, resumed in crowd] == [[6]] * len(crowd)


def test_of_calls_that_are_alike_only_the_first_without_use_is_asked() -> None:
    waiters = Waiters(Timers(InternalErrors()), fail, at_once)
    left, asked, resumed = [2], [], []

    def wait(name: str, alike: str | None) -> None:
        def is_ready(_key: int) -> bool:
            asked.append(name)
            return left[0] > 0

        def resume(_now_ms: int) -> None:
            resumed.append(name)
            left[0] -= 1

        call: Any = FakeCall()
        fetch = ParkedCall(
            call, keys=[1], size_bytes=0, min_bytes=0, resume=resume, ready=is_ready, alike=alike
        )
        waiters.park(fetch, deadline_ms=500)

    for name in ("a1", "b1", "a2", "a3", "a4", "own1", "own2"):
        wait(name, None if name.startswith("own") else name[0])
    waiters.advanced(1, 0, now_ms=1)
    assert resumed == ["a1", "a2"]
    assert asked == ["a1", "a2", "a3", "b1", "own1", "own2"]
    left[0] = 1
    waiters.advanced(1, 0, now_ms=2)
    assert resumed == ["a1", "a2", "a3"]
    assert waiters.waiting_for(1) == 4


def waiting_alike(waiters: Waiters, count: int, jobs: list[str], keys: list[int]) -> list[str]:
    """Have so many calls wait that are alike and take a job each; return those that took one."""
    took: list[str] = []

    def wait(name: str) -> None:
        def resume(_now_ms: int) -> None:
            jobs.pop()
            took.append(name)

        call: Any = FakeCall()
        fetch = ParkedCall(
            call,
            keys=keys,
            size_bytes=0,
            min_bytes=0,
            resume=resume,
            ready=lambda _key: bool(jobs),
            alike="g",
        )
        waiters.park(fetch, deadline_ms=500)

    for number in range(count):
        wait(f"m{number}")
    return took


def test_calls_that_are_alike_are_resumed_in_the_order_in_which_they_came_and_most_of_many_in_slices() -> (
    None
):
    later: list[Callable[[], None]] = []
    waiters = Waiters(Timers(InternalErrors()), fail, later.append)
    jobs = ["job"] * (2 * AT_ONCE_MAX + 1)
    took = waiting_alike(waiters, 3 * AT_ONCE_MAX, jobs, keys=[1])
    waiters.advanced(1, 10, now_ms=5)
    assert took == [f"m{number}" for number in range(AT_ONCE_MAX)]
    assert len(later) == 1
    for action in later:
        action()
    assert took == [f"m{number}" for number in range(2 * AT_ONCE_MAX + 1)]
    assert (jobs, waiters.waiting_for(1)) == ([], AT_ONCE_MAX - 1)


def test_a_call_with_very_many_keys_does_not_keep_those_after_it_waiting() -> None:
    later: list[Callable[[], None]] = []
    waiters = Waiters(Timers(InternalErrors()), fail, later.append)
    jobs = ["job"]
    took = waiting_alike(waiters, 2, jobs, keys=list(range(2 * KEYS_PER_STEP)))
    waiters.advanced(0, 10, now_ms=5)
    jobs.append("job")
    waiters.advanced(0, 10, now_ms=6)
    assert took == ["m0", "m1"]
    for action in later:
        action()
    assert waiters.waiting_for(0) == waiters.waiting_for(2 * KEYS_PER_STEP - 1) == 0
