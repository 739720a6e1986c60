"""A reader's choices."""

from __future__ import annotations

import pytest

from console.web.errors import PageError
from console.web.preferences import Preferences, chosen_preferences, cookie_of, preferences_of


def test_times_are_iso_8601_with_their_zone() -> None:
    assert Preferences().moment(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert Preferences("Asia/Kolkata").moment(1_700_000_000_123) == "2023-11-15T03:43:20.123+05:30"


def test_no_time_is_empty_and_one_beyond_all_calendars_is_a_number() -> None:
    assert (Preferences().moment(-1), Preferences().moment(None)) == ("", "")
    assert Preferences().moment(2**62) == f"@{2**62}"


def test_a_cookie_brings_the_choices_back() -> None:
    chosen = chosen_preferences("Europe/Paris", "dark")
    value = cookie_of(chosen).partition("; ")[0].partition("=")[2]
    assert preferences_of(value) == chosen


@pytest.mark.parametrize(
    "cookie", ["", "zone=../../etc/passwd&theme=x", "zone=" + "a" * 100, "a&" * 2000, "zone=%00"]
)
def test_a_cookie_that_cannot_be_used_is_the_default(cookie: str) -> None:
    assert preferences_of(cookie) == Preferences()


@pytest.mark.parametrize(
    ("zone", "theme"), [("Mars/Base", "auto"), ("", "auto"), ("/etc/passwd", "auto"), ("UTC", "x")]
)
def test_other_choices_are_refused(zone: str, theme: str) -> None:
    with pytest.raises(PageError):
        chosen_preferences(zone, theme)
