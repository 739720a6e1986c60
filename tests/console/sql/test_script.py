"""Texts are cut into statements at semicolons outside quotes and comments."""

from __future__ import annotations

import pytest

from console.sql.script import Written, is_complete, statements, without_comments


def test_statements_are_cut_and_know_their_lines() -> None:
    text = (
        "-- first\nSHOW TOPICS;\n\n/* a ; b */ USE d; ;\n SELECT ';' FROM `a;b` -- end; \n WHERE x = \"y;\""
    )
    assert statements(text) == [
        Written("SHOW TOPICS", 2),
        Written("USE d", 4),
        Written("SELECT ';' FROM `a;b`  \n WHERE x = \"y;\"", 5),
    ]


@pytest.mark.parametrize("text", ["", " ; ; ", "-- nothing", "/* nothing */;"])
def test_a_text_without_statements_has_none(text: str) -> None:
    assert statements(text) == []
    assert is_complete(text)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SHOW TOPICS", False),
        ("SHOW TOPICS;", True),
        ("SHOW TOPICS; USE", False),
        ("SELECT ';", False),
        ("SHOW TOPICS; -- and ;", True),
        ("SHOW /* ;", False),
    ],
)
def test_a_statement_is_complete_with_its_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_what_is_not_closed_belongs_to_the_last_statement() -> None:
    assert [found.text for found in statements("USE a; SELECT 'b; c")] == ["USE a", "SELECT 'b; c"]


def test_quotes_that_are_doubled_do_not_end_a_text() -> None:
    assert [found.text for found in statements("INSERT 'it''s; -- here'; USE d")] == [
        "INSERT 'it''s; -- here'",
        "USE d",
    ]


def test_comments_become_blanks_but_not_inside_quotes() -> None:
    assert without_comments("a/*b*/c '--d' -- e") == "a c '--d'  "
