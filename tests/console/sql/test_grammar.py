"""Forms of statements: blanks, case, names, and what was probably meant."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.sql.grammar import find, form, name, plain_name
from console.sql.results import Result

FORMS = (
    form("SHOW TOPICS", "SHOW TOPICS", lambda *_: Result("shown"), "SHOW TOPICS"),
    form("SHOW SUBSCRIPTIONS", "SHOW SUBSCRIPTIONS", lambda *_: Result("shown"), "SHOW SUBSCRIPTIONS"),
    form("DROP TOPIC", rf"DROP TOPIC {name()}", lambda *_: Result("dropped"), "DROP TOPIC late"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("drop\n  topic a.b-c", "a.b-c"),
        ("DROP TOPIC `a b`", "a b"),
        ("DROP TOPIC `d` . `t`", "d.t"),
        ("DROP TOPIC d.`t-1` ", "d.t-1"),
    ],
)
def test_names_are_read_with_their_database(text: str, found: str) -> None:
    known, parts = find(FORMS, text)
    assert (known.verb, plain_name(parts["name"])) == ("DROP TOPIC", found)


def test_no_name_is_empty() -> None:
    assert plain_name(None) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("DROP TOPIC", "write it like 'DROP TOPIC late'"),
        ("drop it", "write it like 'DROP TOPIC late'"),
        ("SHOW", "write it like 'SHOW TOPICS'"),
        ("EXPLAIN x", "statements begin with SHOW, DROP; not with 'EXPLAIN'"),
        (" ", "the statement is empty"),
        ("SHOW TOPC", "write it like 'SHOW TOPICS'"),
        ("SHOW SUBSCRIPTION", "write it like 'SHOW SUBSCRIPTIONS'"),
    ],
)
def test_what_is_no_statement_is_answered_with_an_example(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        find(FORMS, text)
    assert words in str(refused.value)
