"""Queries, forms and paths, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from console.web.errors import PageError
from console.web.fields import Fields, name_of, path_to, segment, with_query

NAMES = some.text(some.characters(exclude_categories=["Cs"]))


@given(NAMES)
def test_a_name_survives_its_segment(name: str) -> None:
    text = segment(name)
    assert name_of(text) == name
    assert text
    assert text not in (".", "..")
    assert text.isascii()
    assert not set(text) & set("/?#")


def test_a_name_that_is_no_unicode_is_no_error() -> None:
    assert segment("a\udcff") == "a%3F"


def test_the_last_value_counts_and_all_can_be_had() -> None:
    fields = Fields("a=1&b=&a=2")
    assert (fields.one("a"), fields.one("b", "x"), fields.one("c", "x")) == ("2", "", "x")
    assert fields.many("a") == ["1", "2"]


@pytest.mark.parametrize("text", ["x", "1.5", "²", "1e3", "-", "9" * 30, "0x1"])
def test_a_number_is_whole_and_decimal(text: str) -> None:
    with pytest.raises(PageError, match="n is"):
        Fields(f"n={text}").number("n", 0, low=-10, high=10**30)


def test_a_number_has_bounds_and_a_default() -> None:
    assert Fields("n=-7").number("n", 0, low=-10, high=10) == -7
    assert Fields("n=").number("n", 3, low=0, high=10) == 3
    with pytest.raises(PageError, match="between 0 and 10"):
        Fields("n=11").number("n", 3, low=0, high=10)


def test_a_choice_is_one_of_the_words() -> None:
    assert Fields("").choice("order", ("newest", "oldest")) == "newest"
    with pytest.raises(PageError, match="one of newest, oldest"):
        Fields("order=x").choice("order", ("newest", "oldest"))


def test_too_many_fields_are_refused() -> None:
    with pytest.raises(PageError) as refused:
        Fields("a&" * 1001)
    assert refused.value.status == 400


def test_fields_are_replaced_and_left_out() -> None:
    assert Fields("a=1&b=2&b=3").changed({"b": 4, "a": None, "c": "ä&"}) == "b=4&c=%C3%A4%26"


def test_paths_and_queries_are_put_together() -> None:
    assert path_to("topics", "a/b", 3) == "/topics/a%2Fb/3"
    assert with_query("/t", from_="-200", p=None) == "/t?from=-200"
    assert with_query("/t", p=None) == "/t"
