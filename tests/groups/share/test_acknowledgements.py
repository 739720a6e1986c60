"""Acknowledgements of a request: what one may say, and the runs of equal outcomes in it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.errors import InvalidRequest
from groups.share.acknowledgements import acknowledgement, runs_of
from groups.share.states import ACKNOWLEDGEMENTS, Event

ACCEPT, RELEASE = Event.ACCEPT, Event.RELEASE


def test_one_type_is_that_of_all_records() -> None:
    assert list(runs_of(acknowledgement(3, 9, [1]))) == [(3, 9, ACCEPT)]


def test_equal_types_in_a_row_are_one_run() -> None:
    found = runs_of(acknowledgement(3, 7, [1, 1, 2, 2, 1]))
    assert list(found) == [(3, 4, ACCEPT), (5, 6, RELEASE), (7, 7, ACCEPT)]


@given(st.integers(0, 2**40), st.lists(st.sampled_from(sorted(ACKNOWLEDGEMENTS)), min_size=1, max_size=40))
def test_runs_are_the_acknowledgement_in_order(first: int, types: list[int]) -> None:
    runs = list(runs_of(acknowledgement(first, first + len(types) - 1, types)))
    told = [event for low, high, event in runs for _ in range(low, high + 1)]
    assert told == [ACKNOWLEDGEMENTS[kind] for kind in types]
    assert [low for low, _, _ in runs] == [first, *(high + 1 for _, high, _ in runs[:-1])]
    assert all(left[2] != right[2] for left, right in pairwise(runs))


@pytest.mark.parametrize(
    ("first", "last", "types", "problem"),
    [
        (-2, 3, [1], "not a range"),
        (4, 3, [1], "not a range"),
        (0, 3, [], "0 types"),
        (0, 3, [1, 1], "2 types for the 4 offsets"),
        (0, 0, [5], "5 does not exist"),
        (0, 0, [-1], "-1 does not exist"),
    ],
)
def test_what_cannot_be_is_refused(first: int, last: int, types: list[int], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        acknowledgement(first, last, types)
