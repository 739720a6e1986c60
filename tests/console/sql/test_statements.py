"""Every form of statements has an example that it accepts, and the right form is found."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.sql.grammar import Form, find
from console.sql.statements import FORMS, KEYWORDS, run
from tests.console.sql.conftest import Sql


@pytest.mark.parametrize("form", FORMS, ids=[form.verb for form in FORMS])
def test_the_example_of_a_form_is_a_statement_of_that_form(form: Form) -> None:
    assert find(FORMS, form.example)[0].run is form.run


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("DESC DATABASE d", "DESCRIBE DATABASE"),
        ("desc d", "DESCRIBE"),
        ("SHOW CREATE DATABASE d", "SHOW CREATE DATABASE"),
        ("show vgroups", "SHOW VGROUPS"),
        ("CREATE TABLE t (a int)", "CREATE STABLE"),
        ("CREATE TABLE t USING s TAGS (1)", "CREATE TABLE"),
    ],
)
def test_statements_that_begin_alike_are_told_apart(text: str, verb: str) -> None:
    assert find(FORMS, text)[0].verb == verb


def test_keywords_are_the_words_of_statements() -> None:
    assert {"CREATE", "TOPIC", "RELOAD", "SUBSCRIPTIONS", "WHERE"} <= set(KEYWORDS)


def test_what_no_form_has_is_a_usage_error(sql: Sql) -> None:
    with pytest.raises(UsageError, match="not with 'EXPLAIN'"):
        run(sql.session, "EXPLAIN x")
