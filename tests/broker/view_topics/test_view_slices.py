"""Slices of the work of views are limited by units of work and by the clock."""

from __future__ import annotations

from broker.view_topics.view_slices import SLICE_NS, SLICE_UNITS, SliceBudget


def test_a_slice_is_over_after_so_much_work() -> None:
    budget = SliceBudget()
    spent = [budget.spend(records=SLICE_UNITS // 3, size_bytes=0) for _ in range(6)]
    assert spent == [False, False, True, False, False, True]
    assert SliceBudget().spend(records=0, size_bytes=100 << 20)


def test_a_slice_is_over_when_its_time_is_up_however_little_was_done() -> None:
    now = [0]
    budget = SliceBudget(lambda: now[0])
    spent = []
    for took_ns in (SLICE_NS // 2, SLICE_NS // 2, 1, SLICE_NS, 1):
        now[0] += took_ns
        spent.append(budget.spend(records=1, size_bytes=0))
    assert spent == [False, False, True, False, True]
    assert not budget.spend(records=SLICE_UNITS - 100, size_bytes=0), "every slice has all units"
