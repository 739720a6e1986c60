"""Statements about databases: read in TDengine's syntax, refused with an example."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.sql_databases import is_about_databases, parse_database_statement, run_database_statement
from tests.broker.gateway import Gateway


@pytest.mark.parametrize(
    ("text", "verb", "name", "options", "lenient"),
    [
        ("CREATE DATABASE power", "create", "power", {}, False),
        (
            "create database if not exists `power-2` VGROUPS 4 WAL_LEVEL = 2 retention.ms='7';",
            "create",
            "power-2",
            {"VGROUPS": "4", "WAL_LEVEL": "2", "retention.ms": "7"},
            True,
        ),
        ("ALTER DATABASE d\n WAL_FSYNC_PERIOD  0", "alter", "d", {"WAL_FSYNC_PERIOD": "0"}, False),
        ("DROP DATABASE IF EXISTS d ;", "drop", "d", {}, True),
        ("show databases", "show", "", {}, False),
        ("SHOW CREATE DATABASE d", "show create", "d", {}, False),
        ("DESC DATABASE d", "describe", "d", {}, False),
        ('ALTER DATABASE d durability "os"', "alter", "d", {"durability": "os"}, False),
    ],
)
def test_statements_are_read(text: str, verb: str, name: str, options: dict[str, str], lenient: bool) -> None:
    assert is_about_databases(text)
    assert parse_database_statement(text) == (verb, name, options, lenient)


@pytest.mark.parametrize(
    "text", ["CREATE TOPIC t AS DATABASE d", "SHOW TOPICS", "DESCRIBE t", "", "DROP TOPIC d"]
)
def test_statements_about_topics_are_not_ours(text: str) -> None:
    assert not is_about_databases(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("CREATE DATABASE", "write it like 'CREATE DATABASE telemetry"),
        ("CREATE DATABASE d VGROUPS", "expected at 'VGROUPS'"),
        ("CREATE DATABASE d VGROUPS 1 vgroups 2", "given twice"),
        ("CREATE DATABASE d x = ", "expected at 'x ='"),
        ("DROP DATABASE d CASCADE", "takes no 'CASCADE'"),
        ("ALTER DATABASE d", "write it like 'ALTER DATABASE"),
        ("SHOW DATABASES LIKE 'x'", "write it like 'SHOW DATABASES'"),
    ],
)
def test_what_is_no_statement_is_answered_with_an_example(text: str, part: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_database_statement(text)
    assert part in str(refused.value)


def test_statements_do_what_they_say(server: Gateway) -> None:
    def run(text: str, *, json: bool = False) -> str:
        return run_database_statement("", text, json=json)

    assert run("CREATE DATABASE d VGROUPS 1 WAL_RETENTION_PERIOD 60") == "created d"
    assert run("CREATE DATABASE IF NOT EXISTS d") == "d exists already"
    assert run("ALTER DATABASE d flush.ms 9") == "altered d"
    assert run("SHOW CREATE DATABASE d") == "CREATE DATABASE `d` flush.ms=9 retention.ms=60000 vnodes=1"
    assert [line.split()[0] for line in run("SHOW DATABASES").splitlines()] == ["DATABASE", "d", "default"]
    assert '"name": "d"' in run("SHOW DATABASES", json=True)
    assert run("DESCRIBE DATABASE d").startswith("d: 1 vnodes")
    assert run("DESC DATABASE d", json=True).startswith("[")
    assert run("DROP DATABASE d") == "dropped d"
    assert run("DROP DATABASE IF EXISTS d") == "d does not exist"
    again = run("CREATE DATABASE `d` flush.ms=9 retention.ms=60000 vnodes=1")
    assert (again, list(server.broker.vnodes)) == ("created d", ["default", "d"])


def test_comments_may_stand_before_a_statement_about_databases() -> None:
    text = "-- one\nCREATE DATABASE d /* ! */ VGROUPS 2"
    assert is_about_databases(text)
    assert parse_database_statement(text).options == {"VGROUPS": "2"}
