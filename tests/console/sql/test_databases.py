"""Statements about databases against a whole broker."""

from __future__ import annotations

import pytest

from console.errors import CommandError, UsageError
from console.sql.results import Format
from console.sql.statements import run
from tests.console.sql.conftest import Sql


def test_statements_do_what_they_say(sql: Sql) -> None:
    assert sql("CREATE DATABASE d VGROUPS 1 WAL_RETENTION_PERIOD 60") == "created d"
    assert sql("CREATE DATABASE IF NOT EXISTS d") == "d exists already"
    assert sql("ALTER DATABASE d flush.ms 9") == "altered d"
    again = "CREATE DATABASE `d` flush.ms=9 vnodes=1 wal.retention.ms=60000"
    assert sql("SHOW CREATE DATABASE d") == [{"statement": again}]
    assert [row["name"] for row in sql("SHOW DATABASES")] == ["d", "default"]
    assert sql("DESC DATABASE d")["settings"]["flush.ms"] == {"value": "9", "default": False}
    assert run(sql.session, "DESCRIBE DATABASE d").rendered(Format.TABLE).startswith("d: 1 vnodes")
    assert sql("DROP DATABASE d") == "dropped d"
    assert sql("DROP DATABASE IF EXISTS d") == "d does not exist"
    assert sql(again) == "created d"
    assert list(sql.gateway.broker.vnodes) == ["default", "d"]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("create database `power-2` VGROUPS 4 WAL_LEVEL = 2 flush.ms='7'", {"vnodes": "4", "flush.ms": "7"}),
        ('CREATE DATABASE `power-2`\n WAL_FSYNC_PERIOD  0 durability "disk"', {"durability": "disk"}),
        ("CREATE DATABASE `power-2` KEEP 10d,20d PRECISION 'ns' REPLICA 1", {"precision": "ns"}),
    ],
)  # fmt: skip
def test_options_are_read(sql: Sql, text: str, settings: dict[str, str]) -> None:
    assert sql(text) == "created power-2"
    found = sql("DESCRIBE DATABASE `power-2`")["settings"]
    assert {name: found[name]["value"] for name in settings} == settings


def test_use_chooses_the_database_for_what_follows(sql: Sql) -> None:
    sql("CREATE DATABASE d VGROUPS 1")
    assert {row["db_name"] for row in sql("SHOW VGROUPS")} == {"d", "default"}
    assert {row["db_name"] for row in sql("SHOW default.VGROUPS")} == {"default"}
    assert sql("USE d") == "using d"
    assert [row["vgroup_id"] for row in sql("SHOW VGROUPS")] == ["d/vnode-0"]
    with pytest.raises(CommandError, match="'x'"):
        sql("USE x")
    with pytest.raises(CommandError, match="'x'"):
        sql("SHOW x.VGROUPS")


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
def test_what_is_no_statement_is_answered_with_an_example(sql: Sql, text: str, part: str) -> None:
    with pytest.raises(UsageError) as refused:
        sql(text)
    assert part in str(refused.value)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("WAL_LEVEL 0", "every record is written"),
        ("REPLICA 3", "there is one replica"),
        ("BUFFER 9", "those are"),
    ],
)
def test_options_that_no_database_has_are_refused_with_a_reason(sql: Sql, option: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        sql(f"CREATE DATABASE d {option}")


def test_a_split_adds_a_vnode_and_says_what_stays(sql: Sql) -> None:
    sql("CREATE DATABASE power VGROUPS 2")
    assert sql("SPLIT VGROUP power.1") == (
        "added power/vnode-2: new topics and partitions are placed on it, too; what is on power/vnode-1 stays"
        " there"
    )
    sql("CREATE STABLE power.meters (ts timestamp, v int) TAGS (n int)")
    assert [row["streams"] for row in sql("SHOW power.VGROUPS")] == [1, 1, 1]
    sql("USE power")
    assert "added power/vnode-3" in sql("SPLIT VGROUP 0")
    with pytest.raises(CommandError, match="'power' has no vnode 9: they are 0 to 3"):
        sql("SPLIT VGROUP power.9")
    with pytest.raises(CommandError, match="no database 'nowhere'"):
        sql("SPLIT VGROUP nowhere.0")


def test_an_option_without_a_value_is_named_with_all_that_there_are(sql: Sql) -> None:
    with pytest.raises(UsageError, match=r"expected at 'KEEP'; options are .*tables\.declare.*VGROUPS.*KEEP"):
        sql("CREATE DATABASE z KEEP")
