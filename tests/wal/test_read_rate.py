"""The rate of reads from the object store."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wal.read_rate import ReadRate


def test_a_read_waits_as_long_as_the_one_before_it_takes_at_the_limit() -> None:
    now = [0]
    rate = ReadRate(lambda: 1_000, lambda: now[0])
    assert [rate.wait_ms(500) for _ in range(3)] == [0, 500, 1_000]
    assert rate.wait_ms(0) == 1_500, "asking counts nothing"
    now[0] = 10_000
    assert rate.wait_ms(500) == 0, "a rest is not made up for"


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 5_000)), min_size=1, max_size=50))
def test_no_second_has_more_than_the_limit_and_one_read(reads: list[tuple[int, int]]) -> None:
    now, begun = [0], []
    rate = ReadRate(lambda: 10_000, lambda: now[0])
    for pause_ms, size in reads:
        now[0] += pause_ms
        begun.append((now[0] + rate.wait_ms(size), size))
    for start, _ in begun:
        inside = [size for at, size in begun if start <= at < start + 1_000]
        assert sum(inside) <= 10_000 + max(inside) + 20


def test_a_limit_that_changes_applies_to_the_next_read() -> None:
    limit = [1_000]
    rate = ReadRate(lambda: limit[0], lambda: 0)
    rate.wait_ms(1_000)
    limit[0] = 1_000_000
    assert (rate.wait_ms(1_000), rate.wait_ms(0)) == (1_000, 1_001)
