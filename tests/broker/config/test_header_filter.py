"""Filters by record headers: the records that they choose, and where a text is wrong."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.config_keys import ConfigError
from broker.config.group_keys import GROUP_KEYS
from broker.config.header_filter import TERMS_MAX, FilterError, parse_filter

HEADERS = (("type", b"order"), ("type", b"urgent"), ("retry", None), ("Grüße", "süß".encode()))


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("type=order", True),
        ("type=urgent", True),
        ("type=refund", False),
        ("type=refund|order", True),
        ("type!=refund", True),
        ("type!=order", False),
        ("type!=refund|urgent", False),
        ("retry", True),
        ("!retry", False),
        ("other", False),
        ("!other", True),
        ("other!=x", True),
        ("type=order,retry", True),
        ("type=order,!retry", False),
        (" type = order | refund , ! other ", True),
        ("Grüße=süß", True),
        ("Type=order", False),
    ],
)
def test_a_record_is_chosen_if_all_terms_hold(text: str, chosen: bool) -> None:
    assert parse_filter(text).chooses(HEADERS) == chosen


def test_signs_and_blanks_are_parts_of_names_after_a_backslash() -> None:
    found = parse_filter(r"a\,b\=c=1\|2\ ")
    assert found.chooses((("a,b=c", b"1|2 "),))
    assert not found.chooses((("a,b=c", b"1|2"),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("=x", "position 1: the name of a header is expected, not '='"),
        ("a=", "position 3: a value is expected, not its end"),
        ("a=b|", "position 5: a value is expected, not its end"),
        ("a=b,", "position 5: the name of a header is expected, not its end"),
        ("a=b=c", "position 4: ',' or the end of the filter is expected, not '='"),
        ("a!b", "position 2: ',' or the end of the filter is expected, not '!'"),
        ("!a=b", "position 3: ',' or the end of the filter is expected, not '='"),
        ("a,,b", "position 3: the name of a header is expected, not ','"),
        ("a\\", "position 3: a character after the backslash is expected, not its end"),
        ("   ", "position 4: the name of a header is expected, not its end"),
        (",".join("a" * (TERMS_MAX + 1)), "33 terms; 32 are the most"),
    ],
)
def test_what_is_wrong_is_told_with_its_position(text: str, problem: str) -> None:
    with pytest.raises(FilterError) as raised:
        parse_filter(text)
    assert str(raised.value) == problem


def test_a_group_refuses_a_filter_that_cannot_be_read() -> None:
    key = GROUP_KEYS["kawal.share.filter"]
    assert key.parse("type=order") == "type=order"
    with pytest.raises(ConfigError, match="position 6: a value is expected, not its end"):
        key.parse("type=")


@given(st.text(max_size=40))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    with suppress(FilterError):
        assert parse_filter(text).chooses(HEADERS) in (True, False)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def escaped(text: str) -> str:
    return "".join(f"\\{char}" for char in text)


@given(NAMES, NAMES)
def test_every_name_and_value_can_be_written(name: str, value: str) -> None:
    found = parse_filter(f"{escaped(name)}={escaped(value)}")
    assert found.chooses(((name, value.encode()),))
    assert not found.chooses(((name, value.encode() + b"x"),))
