"""Members that left are remembered for a while."""

from __future__ import annotations

from groups.share.departures import KEPT_MAX, KEPT_MS, Departures
from groups.share.sessions import SessionKey


def test_departures_are_told_by_group_until_they_are_old() -> None:
    departures = Departures()
    departures.note(SessionKey("g", "a"), 0).returned += 3
    departures.note(SessionKey("h", "a"), 1)
    departures.note(SessionKey("g", "b"), 2)
    found = departures.of_group("g", KEPT_MS - 1)
    assert {member: departure.returned for member, departure in found.items()} == {"a": 3, "b": 0}
    assert list(departures.of_group("g", KEPT_MS)) == ["b"]


def test_the_last_departure_of_a_member_counts() -> None:
    departures = Departures()
    departures.note(SessionKey("g", "a"), 0).returned += 3
    departures.note(SessionKey("g", "a"), 5)
    (departure,) = departures.of_group("g", 9).values()
    assert (departure.left_ms, departure.returned) == (5, 0)


def test_the_oldest_are_forgotten_when_there_are_too_many() -> None:
    departures = Departures()
    for number in range(KEPT_MAX + 5):
        departures.note(SessionKey("g", f"{number}"), 0)
    found = departures.of_group("g", 0)
    assert len(found) < KEPT_MAX
    assert f"{KEPT_MAX + 4}" in found
    assert "0" not in found
