"""Entries between two marks are counted from either end, and never over a gap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.wal.logs import batch
from wal.entries import (
    Entry,
    Numbered,
    entries_in,
    entry_at_offset,
    entry_at_ordinal,
    entry_weight,
    numbered,
)
from wal.ledgers import Interval, Ledger, Ledgers

ENTRIES = [Entry(10, 12, 1), Entry(12, 20, 3), Entry(20, 21, 1)]
INTERVAL = Interval(10, 100, 21, 105, end_counts=True)


def ordinals(entries: list[Entry], interval: Interval = INTERVAL) -> list[int | None]:
    return [found.ordinal for found in numbered(entries, interval)]


def test_entries_are_counted_from_the_mark_before() -> None:
    assert ordinals(ENTRIES, INTERVAL._replace(end_counts=False)) == [100, 101, 104]


def test_without_the_first_ones_they_are_counted_back_from_the_mark_after() -> None:
    assert ordinals(ENTRIES[1:]) == [101, 104]
    assert ordinals(ENTRIES[1:], INTERVAL._replace(end_counts=False)) == [None, None]


def test_no_count_goes_over_a_gap() -> None:
    gap = [ENTRIES[0], Entry(14, 15, 1), Entry(15, 16, 1), ENTRIES[2]]

    assert ordinals(gap) == [100, None, None, 104]
    assert ordinals([ENTRIES[0], Entry(14, 15, 1)]) == [100, None]
    assert ordinals([]) == []


def test_only_a_run_without_records_stands_for_several_entries() -> None:
    assert entry_weight(-1, -5, 0) == 5
    assert entry_weight(-1, -1, 0) == 1
    assert entry_weight(-1, -5, 2) == 1
    assert entry_weight(7, -5, 0) == 1
    assert entry_weight(-1, 3, 0) == 1


def test_entries_are_read_from_the_heads_of_batches() -> None:
    first, second = batch(3), batch(2)
    second[0:8] = (3).to_bytes(8, "big")

    assert list(entries_in(bytes(first + second), 9)) == [Entry(0, 3, 1), Entry(3, 5, 1)]
    assert list(entries_in(bytes(first + second), 3)) == [Entry(0, 3, 1)]


def test_places_are_found_by_offset_and_by_ordinal() -> None:
    ledgers = Ledgers()
    ledgers.ledgers = [Ledger(3, 10, 98, 0, 0), Ledger(4, 20, 104, 0, 0)]
    found = numbered(ENTRIES, INTERVAL)

    for offset, ledger_id, number in ((10, 3, 2), (11, 3, 2), (12, 3, 3), (19, 3, 3), (20, 4, 0)):
        place = entry_at_offset(found, offset, ledgers)
        assert place is not None
        assert (place.ledger_id, place.number) == (ledger_id, number)
        assert entry_at_ordinal(found, ledgers.ledgers[ledger_id - 3].ordinal + number,
                                ledgers.ledgers[ledger_id - 3], ledgers) == place  # fmt: skip
    assert entry_at_offset(found, 21, ledgers) is None
    assert entry_at_ordinal(found, 104, ledgers.ledgers[0], ledgers) is None, "it is of the next ledger"
    assert entry_at_ordinal([Numbered(ENTRIES[0], None)], 100, ledgers.ledgers[0], ledgers) is None
    assert entry_at_offset([Numbered(ENTRIES[0], None)], 10, ledgers) is None


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=20), st.data())
def test_any_part_that_reaches_an_end_is_numbered_as_the_whole(
    shape: list[tuple[int, int]], data: st.DataObject
) -> None:
    entries, due, total = [], 7, 0
    for length, weight in shape:
        entries.append(Entry(due, due + length, weight))
        due, total = due + length, total + weight
    interval = Interval(7, 50, due, 50 + total, end_counts=True)
    whole = numbered(entries, interval)
    assert None not in [found.ordinal for found in whole]
    missing = data.draw(st.sets(st.integers(0, len(entries) - 1)))

    rest = numbered([entry for row, entry in enumerate(entries) if row not in missing], interval)

    for found in rest:
        assert found.ordinal is None or found in whole
    known = sum(found.ordinal is not None for found in rest)
    assert known == len(entries) if not missing else known == min(missing) + len(entries) - 1 - max(missing)
