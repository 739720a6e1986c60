"""Rates over windows of time and buckets of tokens: who keeps to the waits keeps to the quota."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.quota_rates import WAIT_MS_MAX, Rate, TokenBucket, Windows

WINDOWS = Windows(11, 1_000)


def test_at_the_start_as_much_as_all_windows_but_one_allow_may_come_at_once() -> None:
    rate = Rate(WINDOWS)
    rate.count(1_000, 0)
    assert rate.wait_ms(100, 0) == 0
    rate.count(1, 0)
    assert rate.wait_ms(100, 0) > 0


def test_the_wait_is_that_of_kafka() -> None:
    """QuotaUtils.throttleTime: (rate - quota) / quota * windows elapsed; 5,000 in 10 s at 100 a second."""
    rate = Rate(WINDOWS)
    rate.count(5_000, 0)
    assert rate.wait_ms(100, 0) == 40_000


def test_what_lies_further_back_than_all_windows_is_forgotten() -> None:
    rate = Rate(WINDOWS)
    rate.count(5_000, 0)
    assert rate.total(10_999) == 5_000
    assert rate.total(11_000) == 0
    assert rate.wait_ms(100, 11_000) == 0


def test_what_is_taken_back_does_not_count() -> None:
    rate = Rate(WINDOWS)
    rate.count(5_000, 0)
    rate.count(-5_000, 0)
    assert rate.wait_ms(100, 0) == 0


@given(
    st.integers(1, 20),
    st.integers(1, 5_000),
    st.floats(1, 1e9),
    st.lists(st.tuples(st.floats(0, 2), st.integers(0, 3_000)), min_size=20, max_size=200),
)
def test_who_waits_as_told_stays_near_the_quota(
    number: int, length_ms: int, quota: float, steps: list[tuple[float, int]]
) -> None:
    """Each step counts at most two windows' worth; the whole is no more than the time and a burst allow."""
    windows = Windows(number, length_ms)
    rate, now_ms, counted, largest = Rate(windows), 0, 0.0, 2 * quota * length_ms / 1_000
    for share, pause_ms in steps:
        amount = share * quota * length_ms / 1_000
        rate.count(amount, now_ms)
        counted += amount
        allowed = quota * (2 * number * length_ms + now_ms) / 1_000
        assert counted <= (allowed + largest) * 2
        now_ms += rate.wait_ms(quota, now_ms) + pause_ms


@given(st.floats(5e-324, 1e300), st.floats(0, 1e300), st.integers(0, 2**40))
def test_a_wait_is_a_whole_number_that_a_client_can_be_told(quota: float, amount: float, now_ms: int) -> None:
    rate, bucket = Rate(WINDOWS), TokenBucket(WINDOWS, quota, now_ms)
    rate.count(amount, now_ms)
    bucket.take(amount, quota, now_ms)
    assert 0 <= rate.wait_ms(quota, now_ms) <= WAIT_MS_MAX
    assert 0 <= bucket.wait_ms(quota, now_ms) <= WAIT_MS_MAX


def test_a_bucket_may_go_below_zero_once_and_is_full_after_all_its_windows() -> None:
    bucket = TokenBucket(WINDOWS, 1, 0)
    bucket.take(10, 1, 0)
    assert bucket.wait_ms(1, 0) == 0
    bucket.take(10, 1, 0)
    assert bucket.wait_ms(1, 0) == 9_000
    assert bucket.wait_ms(1, 8_999) == 1
    assert bucket.wait_ms(1, 9_000) == 0
    bucket.take(11, 1, 1_000_000)
    assert bucket.wait_ms(1, 1_000_000) == 0


@pytest.mark.parametrize("quota", [0.5, 3, 1e6])
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 5_000)), max_size=100))
def test_no_bucket_gives_more_than_its_burst_and_what_flows_in(
    quota: float, steps: list[tuple[int, int]]
) -> None:
    bucket, now_ms, taken, most = TokenBucket(WINDOWS, quota, 0), 0, 0, 0
    for amount, pause_ms in steps:
        if not bucket.wait_ms(quota, now_ms):
            bucket.take(amount, quota, now_ms)
            taken, most = taken + amount, max(most, amount)
        assert taken <= quota * (11 + now_ms / 1_000) + most + 1e-6
        now_ms += pause_ms
    assert math.isfinite(bucket._tokens)
