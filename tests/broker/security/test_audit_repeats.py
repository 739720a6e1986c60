"""Events that repeat are told a few times, then counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.security.audit_repeats import BURST, EVENTS_MAX, SOURCE_MAX, WINDOW_MS, Repeats


def test_the_first_of_a_kind_pass_and_the_rest_are_counted() -> None:
    repeats: Repeats[str] = Repeats()
    assert [repeats.passes("a", "h", 0) for _ in range(BURST + 3)] == [True] * BURST + [False] * 3
    assert repeats.passes("b", "h", 1)
    assert repeats.has_left_out
    assert repeats.take() == ({"a": 3}, 0)
    assert repeats.take() == ({}, 0)
    assert repeats.passes("a", "h", 2)


def test_a_new_window_begins_after_the_last() -> None:
    repeats: Repeats[str] = Repeats()
    assert all(repeats.passes("a", "h", 0) for _ in range(BURST))
    assert repeats.passes("a", "h", WINDOW_MS)


def test_new_kinds_without_end_take_neither_lines_nor_memory() -> None:
    repeats: Repeats[int] = Repeats()
    assert sum(repeats.passes(number, str(number), 0) for number in range(5 * EVENTS_MAX)) == EVENTS_MAX
    left_out, others = repeats.take()
    assert len(left_out) == EVENTS_MAX
    assert others == 3 * EVENTS_MAX


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2 * WINDOW_MS))))
def test_every_event_is_told_or_counted(asked: list[tuple[int, int]]) -> None:
    repeats: Repeats[int] = Repeats()
    now_ms = told = counted = 0
    for kind, pause_ms in asked:
        now_ms += pause_ms
        if now_ms >= repeats.ends_ms and repeats.has_left_out:
            counted += sum(repeats.take()[0].values())
        told += repeats.passes(kind, "h", now_ms)
    assert told + counted + sum(repeats.take()[0].values()) == len(asked)


def test_an_address_does_not_hide_what_comes_from_others() -> None:
    repeats: Repeats[int] = Repeats()
    assert sum(repeats.passes(number, "wicked", 0) for number in range(5_000)) == SOURCE_MAX
    assert repeats.passes(5_000, "other", 1)
    assert repeats.take()[0][SOURCE_MAX] == 1
    assert all(repeats.passes(number, "wicked", 2) for number in range(SOURCE_MAX))
