"""Supertables, tables and sub-tables against a whole broker."""

from __future__ import annotations

import pytest

from console.errors import CommandError, UsageError
from tests.console.sql.conftest import Sql

STABLE = "CREATE STABLE {} (ts timestamp PRIMARY KEY, current float, voltage int) TAGS (location binary(64), groupId int)"  # noqa: E501


@pytest.fixture
def power(sql: Sql) -> Sql:
    """Return a session that uses the database power, which has the supertable meters."""
    sql("CREATE DATABASE power VGROUPS 3 PRECISION 'us'")
    sql("USE power")
    assert sql(STABLE.format("meters")) == "created meters"
    return sql


def columns(sql: Sql, name: str = "meters") -> str:
    return sql.session.topic(name).columns


def test_a_supertable_is_a_topic_with_the_partitions_and_the_precision_of_its_database(power: Sql) -> None:
    topic = power.session.topic("meters")
    assert (topic.database, topic.partitions) == ("power", 3)
    assert topic.columns == (
        "ts timestamp(us), current float, voltage int, location binary(64) tag, groupId int tag"
    )
    (row,) = power("SHOW STABLES")
    assert (row["stable_name"], row["db_name"], row["columns"], row["tags"]) == ("meters", "power", 3, 2)


def test_if_not_exists_forgives_the_same_supertable_only(power: Sql) -> None:
    again = STABLE.format("power.meters").replace("STABLE", "STABLE IF NOT EXISTS")
    assert power(again) == "meters exists already"
    with pytest.raises(CommandError, match="exists in database 'power' with other columns"):
        power("CREATE STABLE IF NOT EXISTS meters (ts timestamp) TAGS (a int)")
    with pytest.raises(CommandError, match="already exists"):
        power(STABLE.format("meters"))
    with pytest.raises(CommandError, match="'nowhere'"):
        power(STABLE.format("nowhere.meters"))


def test_a_table_without_tags_is_a_topic_in_the_default_database_unless_one_is_used(sql: Sql) -> None:
    assert sql("create table if not exists log (ts timestamp, line varchar(100))") == "created log"
    assert sql.session.topic("log").database == "default"


def test_sub_tables_are_declared_with_their_tags(power: Sql) -> None:
    text = "CREATE TABLE d1 USING meters TAGS ('x', 2) power.d2 USING meters (groupid) TAGS (3)"
    assert power(text) == "created d1, d2"
    assert [row["table_name"] for row in power("SHOW TABLES")] == ["d1", "d2"]
    assert [(row["table_name"], row["tag_name"], row["tag_value"]) for row in power(
        "SELECT * FROM information_schema.ins_tags"
    )] == [("d1", "location", "x"), ("d1", "groupId", "2"), ("d2", "groupId", "3")]  # fmt: skip
    with pytest.raises(CommandError, match="table 'd1' exists already"):
        power("CREATE TABLE d1 USING meters TAGS ('x', 2)")
    lenient = "CREATE TABLE IF NOT EXISTS d1 USING meters TAGS ('y', 2) d3 USING meters TAGS ('z', 4)"
    assert power(lenient) == "created d3; d1 exists already"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE TABLE d1 USING meters TAGS ('x')", "2 tags are named, but TAGS has 1 values"),
        ("CREATE TABLE d1 USING meters (voltage) TAGS (1)", "no tag 'voltage'; there are location, groupId"),
        ("CREATE TABLE d1 USING gone TAGS (1)", "there is no topic 'gone'"),
        ("CREATE TABLE d1 USING meters TAGS ('x', 'y')", "'y' is not a value of column 'groupId int tag'"),
        ("CREATE TABLE d1 USING meters TAGS ('x', 2", "is not closed"),
        ("CREATE TABLE d1 USING meters", "expected TAGS"),
        ("CREATE STABLE s (ts timestamp, x geometry) TAGS (a int)", "unknown type 'geometry'"),
        ("CREATE STABLE s (ts timestamp, a int) TAGS (a int)", "'a' is declared twice"),
        ("CREATE STABLE s", "write it like"),
    ],
)  # fmt: skip
def test_what_cannot_be_declared_is_refused_by_name(power: Sql, text: str, words: str) -> None:
    with pytest.raises(CommandError) as refused:
        power(text)
    assert words in str(refused.value)
    assert power("SHOW TABLES") == []


def test_columns_and_tags_are_added_and_dropped(power: Sql) -> None:
    assert power("ALTER STABLE meters ADD COLUMN phase double") == "altered meters"
    assert power("ALTER TABLE meters ADD TAG owner varchar(8)") == "altered meters"
    assert power("ALTER STABLE meters DROP COLUMN voltage") == "altered meters"
    assert power("ALTER STABLE meters DROP TAG groupId") == "altered meters"
    assert columns(power) == (
        "ts timestamp(us), current float, location binary(64) tag, phase double, owner varchar(8) tag"
    )
    power("CREATE TOPIC v AS SELECT current FROM meters")
    with pytest.raises(CommandError, match="column 'current' of 'meters' cannot be dropped"):
        power("ALTER STABLE meters DROP COLUMN current")
    with pytest.raises(CommandError, match="has no tag 'phase'"):
        power("ALTER STABLE meters DROP TAG phase")
    with pytest.raises(UsageError, match="is not a name and a type"):
        power("ALTER STABLE meters ADD COLUMN phase")


def test_the_tags_of_a_sub_table_are_changed(power: Sql) -> None:
    power("CREATE TABLE d1 USING meters TAGS ('x', 2)")
    assert power("ALTER TABLE d1 SET TAG location = 'a = b'") == "altered d1"
    assert power("SELECT tag_value FROM information_schema.ins_tags WHERE tag_name = 'location'") == [
        {"tag_value": "a = b"}
    ]
    with pytest.raises(UsageError, match="has no tag 'voltage'"):
        power("ALTER TABLE d1 SET TAG voltage = 1")
    with pytest.raises(CommandError, match="there is no sub-table 'd9'"):
        power("ALTER TABLE d9 SET TAG location = 'x'")


def test_dropping_a_sub_table_keeps_its_rows_and_dropping_a_supertable_takes_all(power: Sql) -> None:
    power("CREATE TABLE d1 USING meters TAGS ('x', 2) d2 USING meters TAGS ('y', 3)")
    assert power("DROP TABLE d1").startswith("dropped d1; its rows in meters stay")
    assert power("DROP STABLE power.meters") == "dropped meters"
    assert power("SHOW TABLES") == []
    assert power("DROP TABLE IF EXISTS d1") == "d1 does not exist"
    with pytest.raises(CommandError, match="there is no table 'd1'"):
        power("DROP TABLE d1")
    with pytest.raises(CommandError, match="it is dropped by DROP TOPIC"):
        power("DROP TABLE `kawal.tables.power`")
