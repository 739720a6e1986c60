"""One search at a time for each user."""

from __future__ import annotations

import pytest

from console.web.kafka_door import KafkaDoor
from console.web.search_bounds import Bounds
from console.web.search_turns import turn


def test_the_next_search_of_a_user_ends_the_one_before_it() -> None:
    door = KafkaDoor("broker.test:9092")
    alice, bob = door.enter(), door.enter()
    first, second, other = Bounds(), Bounds(), Bounds()
    with turn(alice, first), turn(bob, other):
        assert not first.left
        with turn(alice, second):
            assert (first.left, second.left, other.left) == (True, False, False)
    assert (second.left, other.left) == (True, True)


def test_a_search_ends_with_its_page() -> None:
    kafka, bounds = KafkaDoor("broker.test:9092").enter(), Bounds()
    with pytest.raises(ZeroDivisionError), turn(kafka, bounds):
        raise ZeroDivisionError
    assert bounds.left
