"""Guards: set before a question, removed by markers."""

from __future__ import annotations

from broker.storage.transaction_guards import TransactionGuards


def test_a_guard_holds_until_a_marker_is_written() -> None:
    guards = TransactionGuards()
    number = guards.set(1, 7)
    assert guards.holds(1, 7, number)
    assert not guards.holds(2, 7, number)
    guards.marked(1, 8)
    assert guards.holds(1, 7, number)
    guards.marked(1, 7)
    assert not guards.holds(1, 7, number)
    again = guards.set(1, 7)
    assert guards.holds(1, 7, again)
    assert not guards.holds(1, 7, number), "the marker came between"


def test_requests_that_ask_at_the_same_time_share_a_guard_and_leave_nothing() -> None:
    guards = TransactionGuards()
    assert guards.set(1, 7) == guards.set(1, 7)
    guards.release(1, 7)
    assert len(guards) == 1
    guards.marked(1, 7)
    guards.release(1, 7)
    assert len(guards) == 0
    assert not guards.holds(1, 7, 1)
    assert not guards.holds(1, 7, 0)
