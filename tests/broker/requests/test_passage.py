"""Denied items leave the request, and join the answer."""

from __future__ import annotations

from typing import Any

from broker.loop.slices import at_once
from broker.requests.passage import ITEMS_PER_STEP, Passage, refused_of, refused_parts_of, split


class Call:
    """As much of a call as a passage changes."""

    amend: Any = None


def test_the_order_of_items_is_kept() -> None:
    assert at_once(split(range(6), lambda number: number % 2 == 0)) == ([0, 2, 4], [1, 3, 5])


def test_many_items_are_split_in_steps() -> None:
    steps = split(range(10 * ITEMS_PER_STEP), lambda number: True)
    assert sum(1 for _ in steps) == 10


def test_errors_of_many_partitions_are_made_in_steps() -> None:
    def refused(items: str, partitions: range) -> Any:
        return refused_parts_of(items, lambda _: partitions, lambda index: -index, lambda *made: made)

    assert sum(1 for _ in refused("a", range(3 * ITEMS_PER_STEP))) == 3
    assert sum(1 for _ in refused("a" * 3 * ITEMS_PER_STEP, range(0))) == 3, "without partitions, too"
    assert at_once(refused("ab", range(1, 2))) == [("a", [-1]), ("b", [-1])]


def test_errors_of_many_items_are_made_in_steps() -> None:
    assert sum(1 for _ in refused_of(range(3 * ITEMS_PER_STEP), abs)) == 3
    assert at_once(refused_of([-1, 2], abs)) == [1, 2]


def test_the_last_change_of_an_answer_is_made_first() -> None:
    call: Any = Call()
    passage = Passage(call, None, None)  # type: ignore[arg-type]
    passage.amend(lambda response: response.append("first"))
    passage.amend(lambda response: response.append("last"))
    response: list[str] = []
    call.amend(response)
    assert response == ["last", "first"]
