"""Verdicts on extents: unchecked until compared, and none for what this process wrote."""

from __future__ import annotations

from wal.index import ActiveIndex
from wal.verdicts import BAD, GOOD


def index_of(count: int) -> ActiveIndex:
    index = ActiveIndex()
    add(index, count)
    return index


def add(index: ActiveIndex, count: int) -> None:
    for row in range(len(index.base), len(index.base) + count):
        index.add(1, base=row, count=1, position=row * 100, size=100, max_timestamp=0, version=row)


def test_extents_that_this_process_wrote_need_no_comparison() -> None:
    index = index_of(3)
    assert not any(index.is_unchecked(row) or index.is_bad(row) for row in range(3))
    index.mark(1, GOOD)
    assert index.checked is None


def test_others_are_unchecked_until_a_verdict() -> None:
    index = index_of(3)
    index.trust_nothing()
    add(index, 1)
    assert [index.is_unchecked(row) for row in range(4)] == [True, True, True, False]
    index.mark(0, GOOD)
    index.mark(1, BAD)
    assert [index.is_unchecked(row) for row in range(4)] == [False, True, True, False]
    assert [index.is_bad(row) for row in range(4)] == [False, True, False, False]


def test_an_extent_of_this_process_that_cannot_be_read_is_bad_and_the_others_stay_good() -> None:
    index = index_of(3)
    index.mark(1, BAD)
    add(index, 2)
    index.mark(4, BAD)
    assert [index.is_bad(row) for row in range(5)] == [False, True, False, False, True]
    assert [index.is_unchecked(row) for row in range(5)] == [False, True, False, False, True]
