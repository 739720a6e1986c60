"""Answers about databases in words, tables, JSON and statements."""

from __future__ import annotations

import pytest

from console.database_admin import as_statement, as_table, as_text, as_tree, found, told
from console.errors import CommandError
from protocol.messages.kawal_databases import DatabaseResult, DescribedSetting


def result(name: str = "d", **fields: object) -> DatabaseResult:
    settings = [
        DescribedSetting(name="durability", value="os", is_default=True),
        DescribedSetting(name="retention.ms", value="5", is_default=False),
    ]
    return DatabaseResult(name=name, **{"settings": settings, "vnodes": 2, "directory": "db-1", **fields})  # type: ignore[arg-type]


def test_a_database_as_text_tells_whose_each_setting_is() -> None:
    lines = as_text(result()).splitlines()
    assert lines[0] == "d: 2 vnodes in db-1, 0 topics, 0 views"
    assert [line.split() for line in lines[2:]] == [
        ["durability", "os", "the", "server's"],
        ["retention.ms", "5"],
    ]


def test_a_table_has_a_line_for_each_database() -> None:
    assert [line.split()[0] for line in as_table([result("a"), result("b")]).splitlines()] == [
        "DATABASE",
        "a",
        "b",
    ]
    assert as_table([result(settings=[])]).splitlines()[1].split()[-2:] == ["-", "-"]


def test_the_statement_has_what_is_its_own() -> None:
    assert as_statement(result()) == "CREATE DATABASE `d` retention.ms=5"


def test_a_time_that_is_not_known_is_none() -> None:
    assert as_tree(result())["created"] is None


def test_a_refusal_without_words_says_what_the_code_means() -> None:
    with pytest.raises(CommandError, match="'d': "):
        told([result(error_code=56)], "created", {})
    with pytest.raises(CommandError, match="gone"):
        found([result(error_code=91, error_message="gone")])
