"""Functions of time, called as evaluators call them, against the calendar of datetime."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views import runtime_time as time

MS = 1_000_000
HOUR_NS = 3_600 * 10**9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2100-01-01"))
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC", "Australia/Lord_Howe"])


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@UNHURRIED
@given(MOMENTS, ZONES)
def test_a_day_begins_at_midnight_on_the_wall(naive: datetime, zone_name: str) -> None:
    zone = ZoneInfo(zone_name)
    local = naive.replace(tzinfo=UTC).astimezone(zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    found = time.truncated(milliseconds(naive.replace(tzinfo=UTC)), MS, 24 * HOUR_NS, zone)
    assert found == milliseconds(midnight.astimezone(UTC))


@UNHURRIED
@given(MOMENTS, ZONES, st.sampled_from(list(time.PARTS)))
def test_parts_are_those_of_the_local_calendar(naive: datetime, zone_name: str, name: str) -> None:
    local = naive.replace(tzinfo=UTC).astimezone(ZoneInfo(zone_name))
    assert time.part(milliseconds(naive.replace(tzinfo=UTC)), MS, name, ZoneInfo(zone_name)) == time.PARTS[
        name
    ](local)
    day = time.date_of(milliseconds(naive.replace(tzinfo=UTC)), MS, ZoneInfo(zone_name))
    assert day == local.date().isoformat()


@UNHURRIED
@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([1, MS]), st.integers(1, 10**16))
def test_a_truncated_time_is_a_multiple_not_behind_the_time(value: int, unit_ns: int, step_ns: int) -> None:
    step_ns -= step_ns % unit_ns
    if step_ns % (604_800 * 10**9) == 0:
        return
    found = time.truncated(value, unit_ns, step_ns)
    if found is None:
        first = max(-62_135_596_800 * 10**9 // unit_ns, -(2**63))
        assert not first + step_ns // unit_ns <= value < 253_402_300_800 * 10**9 // unit_ns
        return
    assert found * unit_ns % step_ns == 0
    assert 0 <= (value - found) * unit_ns < step_ns


def test_weeks_begin_on_mondays() -> None:
    for day in range(14):
        start = time.truncated(day * 86_400_000, MS, 168 * HOUR_NS)
        assert start is not None
        assert (EPOCH + timedelta(milliseconds=start)).weekday() == 0


@pytest.mark.parametrize(
    ("left", "right", "step_ns", "value"),
    [(1_999, 0, 10**9, 1), (-1_999, 0, 10**9, -1), (0, 1, 10**6, -1), (2**63 - 1, -(2**63), 10**6, None)],
)
def test_differences_are_whole_steps_cut_towards_zero(
    left: int, right: int, step_ns: int, value: int | None
) -> None:
    assert time.between(left, right, MS, MS, step_ns) == value


def test_text_of_a_time_reads_back() -> None:
    assert time.time_of_text(str(time.text_of(-1, MS))) == -1
    assert time.time_of_text("x" * 1_000_000) is None


FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
DAY_NS = 24 * HOUR_NS


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")])
@pytest.mark.parametrize("value", [-(2**63), FIRST_MS - 1, LAST_MS + 1, 2**63 - 1])
def test_a_time_outside_of_the_calendar_is_not_cut_in_another_zone(value: int, zone: tzinfo) -> None:
    for step_ns in (HOUR_NS, DAY_NS, 7 * DAY_NS):
        assert time.truncated(value, MS, step_ns, zone) is None


def test_the_year_1_begins_in_utc_and_what_would_begin_before_it_has_no_time() -> None:
    for step_ns in (HOUR_NS, DAY_NS, 7 * DAY_NS):
        # 0001-01-01 is a Monday.
        assert time.truncated(FIRST_MS + 1, MS, step_ns) == FIRST_MS
        assert time.truncated(FIRST_MS + 1, MS, step_ns, ZoneInfo("Asia/Kolkata")) is None
    assert time.truncated(-(2**63), 1, DAY_NS) is None
    assert time.truncated(-(2**63) + DAY_NS, 1, DAY_NS) is not None
