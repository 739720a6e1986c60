"""The portions in which records are delivered."""

from __future__ import annotations

import pytest

from groups.share.delivery import AcquireMode, Limits, Portion, Wish

WISH = Wish("m1", 10, 64, AcquireMode.BATCH_OPTIMIZED)

EXACT = WISH._replace(mode=AcquireMode.RECORD_LIMIT)


@pytest.mark.parametrize(("limit", "suspect"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 3), (10, 5)])
def test_half_of_the_allowed_deliveries_make_a_record_suspect(limit: int, suspect: int) -> None:
    assert Limits(delivery_count_max=limit).suspect_count == suspect


def test_a_batch_is_taken_to_its_end_though_the_limit_is_passed_in_it() -> None:
    portion = Portion(WISH._replace(max_records=10), Limits())
    assert portion.take(8, 0) == 8
    assert portion.take(8, 1) == 8
    portion.end_of_batch()
    assert portion.take(8, 0) == 0


def test_an_exact_limit_is_not_passed() -> None:
    portion = Portion(EXACT._replace(max_records=10), Limits())
    assert [portion.take(8, 0), portion.take(8, 0), portion.take(8, 0)] == [8, 2, 0]


@pytest.mark.parametrize(("delivered", "expected"), [(9, 99), (10, 32), (11, 16), (12, 8), (18, 1)])
def test_a_portion_is_half_as_large_after_every_delivery(delivered: int, expected: int) -> None:
    assert (
        Portion(WISH._replace(max_records=999), Limits(delivery_count_max=20)).take(99, delivered) == expected
    )


def test_nothing_follows_a_smaller_portion() -> None:
    portion = Portion(WISH._replace(max_records=999), Limits())
    assert [portion.take(99, 3), portion.take(99, 0)] == [32, 0]


def test_the_last_try_is_made_alone_or_later() -> None:
    first, second = (
        Portion(WISH._replace(max_records=999), Limits()),
        Portion(WISH._replace(max_records=999), Limits()),
    )
    assert first.take(99, 4) == 1
    assert [second.take(1, 0), second.take(99, 4)] == [1, 0]


@pytest.mark.parametrize("size", [0, -5, 2**31 - 1])
def test_any_wished_size_leads_to_a_portion(size: int) -> None:
    assert Portion(WISH._replace(batch_size=size, max_records=999), Limits()).take(99, 3) in (1, 99)
