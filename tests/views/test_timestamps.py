"""Timestamps as text, in all units and zones, against the calendar of datetime."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views.timestamps import find_zone, format_timestamp, local_time, parse_timestamp

MS, US, NS = 1_000_000, 1_000, 1


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("1970-01-01", MS, 0),
        ("1970-01-01T00:00:00Z", NS, 0),
        ("1970-01-01 00:00:01.5", MS, 1_500),
        ("1970-01-01T00:00:00.123456789Z", NS, 123_456_789),
        ("1970-01-01T00:00:00.123456789Z", MS, 123),
        ("1969-12-31T23:59:59.999999999Z", US, -1),
        ("2026-01-31T23:59:59+01:00", MS, 1_769_900_399_000),
        ("2026-01-31T23:59:59 -0130", MS, 1_769_909_399_000),
        ("2026-01-31t23:59:59Z", MS, None),
        ("0001-01-01T00:00:00Z", MS, -62_135_596_800_000),
        ("9999-12-31T23:59:59.999Z", MS, 253_402_300_799_999),
        ("9999-12-31T23:59:59Z", NS, None),
        ("2026-02-29", MS, None),
        ("2026-13-01", MS, None),
        ("0000-01-01", MS, None),
        ("2026-01-01T24:00:00Z", MS, None),
        ("2026-01-01T00:60:00Z", MS, None),
        ("2026-01-01T00:00:60Z", MS, None),
        ("2026-01-01T00:00:00+24:00", MS, None),
        ("2026-01-01T00:00:00.1234567890Z", MS, None),
        ("2026-1-1", MS, None),
        ("٢٠٢٦-01-01", MS, None),
        ("yesterday", MS, None),
        ("", MS, None),
    ],
)
def test_text_is_a_number_of_units_or_none(text: str, unit: int, number: int | None) -> None:
    assert parse_timestamp(text, unit) == number


@UNHURRIED
@given(st.datetimes(), st.integers(-23 * 60, 23 * 60), st.sampled_from([MS, US]))
def test_what_datetime_writes_is_read_and_written_back(naive: datetime, minutes: int, unit: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    number = parse_timestamp(
        naive.isoformat() + f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}",
        unit,
    )
    assert number == (naive.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=unit // US
    )
    text = format_timestamp(number, unit)
    if text is not None:
        assert parse_timestamp(text, unit) == number


@UNHURRIED
@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([MS, US, NS]))
def test_every_number_is_written_so_that_it_reads_back_or_is_beyond_the_calendar(
    number: int, unit: int
) -> None:
    text = format_timestamp(number, unit)
    if text is None:
        assert abs(number * unit) > 1_900 * 365 * 86_400 * 10**9
    else:
        assert parse_timestamp(text, unit) == number


def test_zones_are_names_and_offsets() -> None:
    assert find_zone("UTC") is UTC
    assert (
        format_timestamp(1_774_746_000_000, MS, find_zone("Europe/Berlin") or UTC)
        == "2026-03-29T03:00:00.000+02:00"
    )
    assert (
        format_timestamp(1_774_745_999_999, MS, find_zone("Europe/Berlin") or UTC)
        == "2026-03-29T01:59:59.999+01:00"
    )
    assert format_timestamp(0, NS, find_zone("-03:30") or UTC) == "1969-12-31T20:30:00.000000000-03:30"


@pytest.mark.parametrize(
    "name", ["Europe/Nowhere", "", "../../etc/passwd", "/etc/localtime", "+25:00", "x\0y", "é", "a" * 5_000]
)
def test_other_names_are_no_zones(name: str) -> None:
    assert find_zone(name) is None


def test_local_time_is_none_beyond_the_calendar_of_any_zone() -> None:
    assert local_time(253_402_300_799_999, MS, find_zone("+02:00") or UTC) is None
    assert local_time(-62_135_596_800_000, MS, find_zone("-02:00") or UTC) is None
    assert local_time(2**63 - 1, MS, UTC) is None
