"""Statements that look at what is masked, and views of what is."""

from __future__ import annotations

import pytest

from console.web.errors import PageError
from console.web.masked_plans import mask_of_view, refuse_masked
from console.web.masks import EVERYTHING, NO_MASK, TopicMask
from views.columns import parse_columns
from views.plan import Plan, plan_view
from views.statement import parse_view

COLUMNS = parse_columns("number string, amount double, site string tag")
NUMBER = TopicMask(columns=frozenset({"number"}))


def plan(text: str) -> Plan:
    return plan_view(parse_view(text), COLUMNS)


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("SELECT * FROM cards WHERE NUMBER = '4'", NUMBER),
        ("SELECT upper(number) AS n FROM cards", NUMBER),
        ("SELECT amount FROM cards WHERE amount > length(number)", NUMBER),
        ("SELECT * FROM cards WHERE tbname = 'a'", TopicMask(key=True)),
        ("STABLE cards WHERE _key = 'a'", TopicMask(key=True)),
        ("SELECT * FROM cards WHERE amount > 1", TopicMask(value=True)),
        ("SELECT * FROM cards WHERE header('a') = '1'", TopicMask(headers=True)),
        ("SELECT * FROM cards WHERE header('kawal.tag.number') = '1'", NUMBER),
        ("UNFIT cards WHERE _key = 'a'", TopicMask(key=True)),
    ],
)
def test_what_is_masked_is_not_looked_at(text: str, mask: TopicMask) -> None:
    with pytest.raises(PageError, match="is masked"):
        refuse_masked(plan(text), mask)


@pytest.mark.parametrize("text", ["SELECT * FROM cards WHERE amount > 1", "SELECT amount FROM cards"])
def test_all_else_may_be_looked_at(text: str) -> None:
    refuse_masked(plan(text), NUMBER)


def test_a_view_masks_the_columns_that_are_made_of_masked_ones() -> None:
    found = mask_of_view(plan("SELECT upper(number) AS Shown, amount FROM cards"), NUMBER)
    assert found.columns == {"number", "shown"}
    assert not found.hides_column("amount")


def test_a_view_chosen_by_what_is_masked_is_masked_as_a_whole() -> None:
    assert mask_of_view(plan("SELECT amount FROM cards WHERE number = '4'"), NUMBER) == EVERYTHING


def test_reasons_quote_values_and_are_masked_with_them() -> None:
    assert mask_of_view(plan("UNFIT cards"), NUMBER).headers
    assert mask_of_view(plan("UNFIT cards"), NO_MASK) == NO_MASK


def test_a_view_of_masked_values_has_no_column_that_shows_them() -> None:
    found = mask_of_view(plan("SELECT amount, _offset FROM cards"), TopicMask(value=True))
    assert found.columns == {"amount"}
