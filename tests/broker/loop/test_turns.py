"""Turns: their time is split among tasks without gaps, and counted under the work that took the most."""

from __future__ import annotations

import pytest

from broker.loop.turns import BUDGET_NS, WINDOW_BITS, Turns, Work
from protocol.api_keys import ApiKey


class Hands:
    """Clocks that a test moves; the processor's runs with the other one, unless it is stopped."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.cpu_ns = 0
        self.turns = Turns(lambda: self.now_ns, lambda: self.cpu_ns)

    def spend(self, duration_ns: int, *, blocked: bool = False) -> None:
        self.now_ns += duration_ns
        if not blocked:
            self.cpu_ns += duration_ns


@pytest.fixture
def hands() -> Hands:
    return Hands()


def test_the_time_of_a_turn_is_split_among_its_tasks_without_gaps(hands: Hands) -> None:
    turns = hands.turns
    fetch, produce = turns.apis[ApiKey.FETCH], turns.apis[ApiKey.PRODUCE]
    turns.begin(turns.sockets)
    hands.spend(3)
    outer = turns.enter(fetch)
    hands.spend(10)
    inner = turns.enter(produce)
    hands.spend(7)
    turns.leave(inner)
    hands.spend(20)
    turns.leave(outer)
    hands.spend(5)
    turns.end()
    assert (turns.sockets.local_ns, fetch.local_ns, produce.local_ns) == (8, 30, 7)
    assert (fetch.turns_ns.total, fetch.turns_ns.count) == (45, 1)
    assert produce.turns_ns.count == turns.sockets.turns_ns.count == 0


def test_many_short_tasks_of_one_kind_outweigh_a_longer_one(hands: Hands) -> None:
    turns = hands.turns
    turns.begin(turns.sockets)
    for _ in range(5):
        before = turns.enter(turns.apis[ApiKey.PRODUCE])
        hands.spend(4)
        turns.leave(before)
    before = turns.enter(turns.timers)
    hands.spend(10)
    turns.leave(before)
    assert (turns.longest, turns.longest_task_ns) == (turns.timers, 10)
    turns.end()
    assert turns.apis[ApiKey.PRODUCE].turns_ns.total == 30


def test_a_turn_has_nothing_of_the_turns_before(hands: Hands) -> None:
    turns = hands.turns
    turns.begin(turns.disk)
    hands.spend(1000)
    turns.end()
    turns.begin(turns.sockets)
    hands.spend(2)
    before = turns.enter(turns.disk)
    hands.spend(1)
    turns.leave(before)
    turns.end()
    assert (turns.disk.turns_ns.total, turns.sockets.turns_ns.total) == (1000, 3)


def test_only_processor_time_counts_against_the_budget(hands: Hands) -> None:
    turns, told = hands.turns, list[tuple[int, int]]()
    turns.on_slow = lambda duration_ns, cpu_ns: told.append((duration_ns, cpu_ns))
    for duration_ns, blocked in ((BUDGET_NS, False), (BUDGET_NS + 1, True), (BUDGET_NS + 2, False)):
        turns.begin(turns.timers)
        hands.spend(duration_ns, blocked=blocked)
        turns.end()
    assert turns.timers.over_budget == 1
    assert told == [(BUDGET_NS + 1, 0), (BUDGET_NS + 2, BUDGET_NS + 2)]


def test_work_aside_is_a_turn_even_if_it_raises(hands: Hands) -> None:
    turns = hands.turns

    def fail_aside() -> None:
        with turns.aside(turns.http):
            hands.spend(9)
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail_aside()
    assert turns.http.turns_ns.total == 9
    assert not turns.running


def test_a_watcher_that_sleeps_is_woken_by_the_next_turn_only(hands: Hands) -> None:
    turns, woken = hands.turns, list[int]()
    turns.wake = lambda: woken.append(turns.number)
    turns.begin(turns.sockets)
    turns.end()
    turns.asleep = True
    turns.begin(turns.sockets)
    assert woken == [2]


def test_every_kind_of_work_has_a_name_of_its_own() -> None:
    turns = Turns()
    names = [work.name for work in turns.works]
    assert len(set(names)) == len(names)
    assert {name for name in turns.__slots__ if isinstance(getattr(turns, name), Work)} - {"task"} >= {
        "accept", "background", "disk", "http", "sending", "sockets", "timers", "unknown",
    }  # fmt: skip


def turn(hands: Hands, began_ns: int, duration_ns: int) -> None:
    hands.now_ns = began_ns
    hands.turns.begin(hands.turns.sockets)
    hands.spend(duration_ns)
    hands.turns.end()


def longest(hands: Hands, now_ns: int) -> int:
    hands.now_ns = now_ns
    return hands.turns.recent_longest_ns()


def test_the_longest_turn_is_told_for_one_to_two_windows(hands: Hands) -> None:
    window = 1 << WINDOW_BITS
    turn(hands, 0, 500)
    turn(hands, 510, 70)
    assert longest(hands, 600) == 500
    turn(hands, window, 90)
    assert longest(hands, window + 100) == 500
    turn(hands, 2 * window, 30)
    assert longest(hands, 2 * window + 100) == 90


def test_a_long_turn_is_forgotten_while_nothing_happens(hands: Hands) -> None:
    window = 1 << WINDOW_BITS
    turn(hands, 0, 500)
    assert longest(hands, window) == 500
    assert longest(hands, 2 * window) == 0
    turn(hands, 5 * window, 20)
    assert longest(hands, 5 * window + 30) == 20
