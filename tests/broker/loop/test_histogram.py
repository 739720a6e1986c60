"""Histograms: buckets by powers of two."""

import pytest

from broker.loop.histogram import Histogram


@pytest.mark.parametrize(
    ("value", "bucket"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)]
)
def test_a_number_is_counted_below_the_next_power_of_two(value: int, bucket: int) -> None:
    histogram = Histogram()
    histogram.add(value)
    assert histogram.counts[bucket] == 1
    assert (histogram.count, histogram.total) == (1, value)
    assert value < 2**bucket


def test_the_largest_number_has_a_bucket() -> None:
    histogram = Histogram()
    histogram.add(2**64 - 1)
    assert histogram.count == 1
