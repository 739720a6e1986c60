"""The sentences about what a view cannot have."""

from __future__ import annotations

import pytest

from views.columns import parse_columns
from views.refusals import clock_refusal, listed, not_source, unknown_column

COLUMNS = parse_columns("j json, n int")


@pytest.mark.parametrize(
    ("qualifier", "sentence"),
    [
        ("j", "'j' is a column; the member of its object is j->'x'"),
        ("n", "'n' is a column of type int, which has no members"),
        ("g", "'g' is not the source of this view"),
    ],
)
def test_a_name_before_a_point_is_told_apart_from_the_source(qualifier: str, sentence: str) -> None:
    assert not_source(COLUMNS, qualifier, "x") == sentence
    assert not_source(None, qualifier, "x") == f"{qualifier!r} is not the source of this view"


def test_names_that_begin_like_numbers_are_told_what_durations_are() -> None:
    assert unknown_column(COLUMNS, "1n").startswith("'1n' is neither a number nor a column, and no duration")
    assert unknown_column(COLUMNS, "x") == "column 'x' is unknown; the source declares j, n"


def test_long_lists_are_cut_and_clocks_are_refused_with_the_reason() -> None:
    assert listed([f"c{number}" for number in range(21)]).endswith("c19 and more")
    assert "reading a record again must give the same result" in clock_refusal("now")
