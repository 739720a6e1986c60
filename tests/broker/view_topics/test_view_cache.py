"""Ranges of offsets, the batches that a view shows of them, and their memory limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.view_topics.view_cache import ENTRY_BYTES, CacheBudget, Evaluated, EvaluatedRanges
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.kit import batch

UNBOUNDED = 1 << 40


def ranges(limit_bytes: int = UNBOUNDED, key: int = -1) -> EvaluatedRanges:
    return EvaluatedRanges(key, CacheBudget(lambda: limit_bytes))


def nothing(start: int, end: int) -> Evaluated:
    return Evaluated(start, end, None)


def shown(start: int, end: int, size_bytes: int = 100) -> Evaluated:
    return Evaluated(start, end, b"x" * size_bytes)


def test_a_range_is_found_by_any_offset_in_it_and_by_no_other() -> None:
    known = ranges()
    known.add(shown(10, 20))
    assert known.find(9) is None
    assert known.find(10) == known.find(19) == shown(10, 20)
    assert known.find(20) is None


def test_neighbours_that_show_nothing_become_one() -> None:
    known = ranges()
    for start in (0, 20, 10):
        known.add(nothing(start, start + 10))
    assert len(known) == 1
    assert known.find(15) == nothing(0, 30)


def test_a_batch_parts_what_shows_nothing() -> None:
    known = ranges()
    known.add(nothing(0, 10))
    known.add(shown(10, 20))
    known.add(nothing(20, 30))
    assert [known.find(offset) for offset in (5, 15, 25)] == [nothing(0, 10), shown(10, 20), nothing(20, 30)]


def test_what_was_known_of_the_same_offsets_is_replaced() -> None:
    known = ranges()
    known.add(shown(0, 10))
    known.add(nothing(10, 20))
    known.add(shown(5, 15, 7))
    assert known.find(3) is None
    assert known.find(12) == shown(5, 15, 7)
    assert known.find(17) is None


def test_ranges_below_the_log_start_are_dropped() -> None:
    known = ranges()
    known.add(nothing(0, 10))
    known.add(shown(10, 20))
    known.forget_before(15)
    assert known.find(5) is None
    assert known.find(10) == shown(10, 20)
    known.forget_before(20)
    assert len(known) == 0


def test_what_was_not_used_for_longest_goes_first_over_all_views() -> None:
    budget = CacheBudget(lambda: 3 * (ENTRY_BYTES + 100))
    first, other = EvaluatedRanges(-1, budget), EvaluatedRanges(-2, budget)
    first.add(shown(0, 10))
    other.add(shown(0, 10))
    first.add(shown(10, 20))
    assert first.find(0) is not None
    first.add(shown(20, 30))
    assert other.find(0) is None
    assert first.find(0) is not None
    assert budget.used_bytes == 3 * (ENTRY_BYTES + 100)


def test_the_newest_range_stays_however_large_it_is() -> None:
    known = ranges(limit_bytes=10)
    known.add(shown(0, 10))
    known.add(shown(10, 20))
    assert known.find(0) is None
    assert known.find(10) is not None


def test_clearing_gives_all_memory_back() -> None:
    budget = CacheBudget(lambda: UNBOUNDED)
    known = EvaluatedRanges(-1, budget)
    for start in range(0, 100, 10):
        known.add(shown(start, start + 10) if start % 20 else nothing(start, start + 10))
    known.clear()
    assert (budget.used_bytes, len(budget), len(known)) == (0, 0, 0)


def test_a_reader_behind_the_last_record_of_a_batch_is_shown_nothing_of_it() -> None:
    records = [Record(offset, 1_000, None, b"v") for offset in (11, 14)]
    entry = Evaluated(10, 20, bytes(encode_batch(records, base_offset=10, last_offset=19)))
    assert [entry.shows_from(offset) for offset in (5, 10, 14, 15, 19)] == [True, True, True, False, False]
    assert not nothing(10, 20).shows_from(10)


pieces = st.tuples(st.integers(0, 60), st.integers(1, 15), st.booleans())


@given(st.lists(pieces, max_size=30), st.integers(ENTRY_BYTES, 20 * ENTRY_BYTES))
def test_what_is_found_is_what_was_last_said_of_the_offset(
    added: list[tuple[int, int, bool]], limit_bytes: int
) -> None:
    budget = CacheBudget(lambda: limit_bytes)
    known = EvaluatedRanges(-1, budget)
    said: dict[int, bytes | None] = {}
    for number, (start, count, is_shown) in enumerate(added):
        batch = str(number).encode() if is_shown else None
        said.update(dict.fromkeys(range(start, start + count), batch))
        known.add(Evaluated(start, start + count, batch))
        assert budget.used_bytes <= limit_bytes or len(budget) == 1
        for offset in range(80):
            found = known.find(offset)
            if found is not None:
                assert found.batch == said[offset]
                assert found.start <= offset < found.end


def test_nothing_behind_nothing_makes_the_last_range_longer() -> None:
    known = ranges()
    known.add_nothing(0, 10)
    known.add_nothing(10, 20)
    assert (len(known), known.end) == (1, 20)
    known.add(shown(20, 30))
    known.add_nothing(30, 40)
    assert (len(known), known.end, known.find(35)) == (3, 40, nothing(30, 40))


def test_a_batch_whose_records_cannot_be_read_is_shown_to_its_end() -> None:
    data = batch(b"a", b"b")
    data[61] = 0xFF
    found = Evaluated(0, 2, bytes(data))
    assert [found.shows_from(offset) for offset in (0, 1, 2)] == [True, True, False]
