"""The first record that a member may have is found without going over all ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from groups.share.acknowledgements import Acknowledgement
from groups.share.delivery import AcquireMode, Limits, Wish
from groups.share.found import Found, Later
from groups.share.ranges import Ranges
from groups.share.record_range import Change, Facts, Range
from groups.share.share_partition import SharePartition
from groups.share.states import Event

COUNT = 2_000
LIMITS = Limits(in_flight_max=2 * COUNT)
WISH = Wish("m1", COUNT, COUNT, AcquireMode.RECORD_LIMIT)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Range]:
    """Return the ranges that were looked at, one by one."""
    seen: list[Range] = []
    plain = Ranges.beginning

    def counted(ranges: Ranges, offset: int) -> Iterator[Range]:
        for part in plain(ranges, offset):
            seen.append(part)
            yield part

    monkeypatch.setattr(Ranges, "beginning", counted)
    return seen


def fragmented() -> SharePartition:
    """Return a partition of which a member has every second record, the others being finished."""
    share = SharePartition(0)
    share.acquire(WISH, LIMITS, Found(0, [(0, COUNT - 1)], COUNT), 0)
    said = [Acknowledgement(offset, offset, [Event.ACCEPT]) for offset in range(1, COUNT, 2)]
    change = share.acknowledge("m1", said, LIMITS, 0)
    assert change is not None
    share.settle(change)
    assert len(share.ranges) == COUNT
    return share


def test_looks_beside_thousands_of_ranges_cost_no_more_than_one_of_them(looked_at: list[Range]) -> None:
    share = fragmented()
    for _ in range(1_000):
        assert share.first_acquirable(LIMITS, "m2", 1) == COUNT
    assert len(looked_at) <= COUNT


def test_what_comes_and_goes_at_the_end_leaves_the_old_ranges_alone(looked_at: list[Range]) -> None:
    share = fragmented()
    share.next_fetch_offset("m2", 1)
    looked_at.clear()
    for offset in range(COUNT, COUNT + 100):
        share.acquire(WISH, LIMITS, Found(offset, [(offset, offset)], offset + 1), 1)
        change = share.acknowledge("m1", [Acknowledgement(offset, offset, [Event.ACCEPT])], LIMITS, 1)
        assert change is not None
        share.settle(change)
        assert share.next_fetch_offset("m2", 1) == offset + 1
    assert len(looked_at) <= 300


def test_one_record_is_acquired_without_going_over_all_that_are_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share = fragmented()
    change = share.release("m1", LIMITS, 1)
    assert change is not None
    share.settle(change)
    asked: list[Facts] = []
    plain = Facts.is_free

    def counted(facts: Facts, *wish: Any) -> bool:
        asked.append(facts)
        return plain(facts, *wish)

    monkeypatch.setattr(Facts, "is_free", counted)
    found = Found(0, [(0, COUNT - 1)], COUNT)
    for offset in range(0, 20, 2):
        wish = Wish("m2", 1, 1, AcquireMode.RECORD_LIMIT)
        assert [part[:2] for part in share.acquire(wish, LIMITS, found, 1)] == [(offset, offset)]
    assert len(asked) < 300


def test_what_members_have_is_counted_once_and_again_after_every_change() -> None:
    share = SharePartition(0)
    limits = Limits(in_flight_max=COUNT, lock_ms=1_000, in_flight_bytes_max=1 << 30)
    found = Found(0, [(0, 9)], 10, record_bytes=[100])

    def held() -> tuple[int, int, int]:
        return share.held_by("m1"), share.held_by("m2"), share.in_flight_bytes()

    def take(member_id: str, count: int, now_ms: int = 0) -> None:
        share.acquire(Wish(member_id, count, count, AcquireMode.RECORD_LIMIT), limits, found, now_ms)

    def stored(change: Change | None) -> Change:
        assert change is not None
        return change

    assert held() == (0, 0, 0)
    take("m1", 4)
    take("m2", 3)
    assert held() == (4, 3, 700)
    accepted = stored(share.acknowledge("m1", [Acknowledgement(0, 1, [Event.ACCEPT])], limits, 0))
    assert held() == (2, 3, 500)
    share.undo(accepted)
    assert held() == (4, 3, 700)
    share.settle(stored(share.acknowledge("m1", [Acknowledgement(0, 1, [Event.ACCEPT])], limits, 0)))
    share.settle(stored(share.take_over(["m1"], 1, limits, 0)))
    assert held() == (1, 3, 400)
    share.settle(stored(share.release("m2", limits, 0)))
    assert held() == (1, 0, 100)
    share.settle(stored(share.expire(limits, 1_000)[0]))
    assert held() == (0, 0, 0)
    take("m2", 2, 1_000)
    assert held() == (0, 2, 200)
    share.move_log_start(3)
    assert held() == (0, 1, 100)
    share.replay(9, [])
    assert held() == (0, 0, 0)


def test_an_acknowledgement_goes_over_no_ranges_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    share = fragmented()
    assert (share.held_by("m1"), share.next_fetch_offset("m2", 1)) == (COUNT // 2, COUNT)
    # The first and the last that the member has: what lies between is left alone.
    said = [Acknowledgement(offset, offset, [Event.ACCEPT]) for offset in (2, COUNT - 2)]
    touched: list[Range] = []
    within = Ranges.within

    def counted(ranges: Ranges, first: int, last: int) -> list[Range]:
        found = within(ranges, first, last)
        touched.extend(found)
        return found

    monkeypatch.setattr(Ranges, "within", counted)
    monkeypatch.setattr(Ranges, "__iter__", None)
    monkeypatch.setattr(Ranges, "beginning", None)
    change = share.acknowledge("m1", said, LIMITS, 1)
    assert change is not None
    assert share.first_acquirable(LIMITS, "m2", 1) == COUNT
    share.settle(change)
    assert (share.held_by("m1"), share.finished_count()) == (COUNT // 2 - 2, COUNT // 2 + 2)
    assert share.first_acquirable(LIMITS, "m2", 1) == COUNT
    assert len(touched) == 2


def test_delayed_records_are_not_gone_over_until_the_first_is_due(looked_at: list[Range]) -> None:
    share = SharePartition(0)
    later = [Later(offset, offset, 5_000 + offset) for offset in range(COUNT)]
    share.acquire(WISH, LIMITS, Found(0, [], COUNT, later), 0)
    assert len(share.ranges) == COUNT
    for now_ms in range(5_000):
        assert share.next_fetch_offset("m2", now_ms) == COUNT
    assert len(looked_at) <= COUNT
    assert share.next_fetch_offset("m2", 5_000) == 0


def test_a_record_given_back_is_the_first_again() -> None:
    share = fragmented()
    assert share.next_fetch_offset("m2", 1) == COUNT
    change = share.acknowledge("m1", [Acknowledgement(700, 700, [Event.RELEASE])], LIMITS, 1)
    assert change is not None
    assert share.next_fetch_offset("m2", 1) == COUNT, "it is not durable yet"
    share.settle(change)
    assert share.next_fetch_offset("m2", 1) == 700


def test_a_record_is_kept_from_its_last_member_alone() -> None:
    share, limits = fragmented(), LIMITS._replace(avoid_last_ms=1_000)
    change = share.acknowledge("m1", [Acknowledgement(700, 700, [Event.RELEASE])], limits, 1)
    assert change is not None
    share.settle(change)
    assert [share.next_fetch_offset(name, 2) for name in ("m1", "m2", "m1")] == [COUNT, 700, COUNT]
    assert share.next_fetch_offset("m1", 1_001) == 700
