"""Declared sub-tables are kept in a compacted topic."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.sql.sub_tables import (
    TABLES_TOPIC,
    SubTable,
    declare,
    find_sub_table,
    forget,
    read_sub_tables,
)
from tests.broker.gateway import START_MS
from tests.broker.topic_requests import configs
from tests.broker.views import read_all
from tests.console.sql.conftest import Sql

ONE = SubTable("d1", "power", "meters", {"location": "ü", "n": None}, START_MS)
OTHER = SubTable("d1", "air", "gates", {}, START_MS + 5)


@pytest.fixture
def sql(sql: Sql) -> Sql:
    """Return a session with the databases power and air."""
    sql("CREATE DATABASE power VGROUPS 1")
    sql("CREATE DATABASE air VGROUPS 1")
    return sql


def test_declarations_survive_in_a_compacted_topic(sql: Sql) -> None:
    assert read_sub_tables(sql.session) == []
    declare(sql.session, [ONE, OTHER], START_MS)
    sql.gateway.restart()
    assert read_sub_tables(sql.session) == [OTHER._replace(created_ms=START_MS), ONE]
    shown = configs(sql.gateway.client(), f"{TABLES_TOPIC}power")
    assert (shown["cleanup.policy"].value, shown["kawal.database"].value) == ("compact", "power")
    assert read_sub_tables(sql.session, "air") == [OTHER._replace(created_ms=START_MS)]
    assert read_sub_tables(sql.session, "default") == []


def test_nothing_declared_makes_no_topic(sql: Sql) -> None:
    declare(sql.session, [], START_MS)
    assert sql.session.topics() == []


def test_a_table_is_found_by_name_with_the_database_of_use_first(sql: Sql) -> None:
    declare(sql.session, [ONE, OTHER], START_MS)
    sql.session.database = "power"
    assert find_sub_table(sql.session, "d1") == ONE
    found = find_sub_table(sql.session, "air.d1")
    assert found is not None
    assert found.stable == "gates"
    assert find_sub_table(sql.session, "d2") is None


def test_a_change_keeps_the_time_of_creation_and_a_table_can_be_forgotten(sql: Sql) -> None:
    declare(sql.session, [ONE], START_MS)
    declare(sql.session, [ONE._replace(tags={"location": "x"})], START_MS + 1_000)
    (table,) = read_sub_tables(sql.session)
    assert (table.created_ms, table.tags) == (START_MS, {"location": "x"})
    forget(sql.session, [table], START_MS)
    assert read_sub_tables(sql.session) == []


def test_a_view_of_the_database_shows_declarations_and_drops_in_order(sql: Sql) -> None:
    sql("CREATE STABLE power.meters (ts timestamp) TAGS (n int)")
    sql("CREATE TOPIC everything AS DATABASE power")
    sql("CREATE TABLE d1 USING meters TAGS (1)")
    sql("ALTER TABLE d1 SET TAG n = 2")
    sql("DROP TABLE d1")
    shown = read_all(sql.gateway.client(), "everything")
    assert [(record.key, record.value) for record in shown] == [
        (b"d1", b'{"stable": "meters", "tags": {"n": 1}}'),
        (b"d1", b'{"stable": "meters", "tags": {"n": 2}}'),
        (b"d1", None),
    ]


def test_a_database_is_dropped_with_its_declarations_when_nothing_else_is_in_it(sql: Sql) -> None:
    sql("CREATE STABLE power.meters (ts timestamp) TAGS (n int)")
    sql("CREATE TABLE d1 USING meters TAGS (1)")
    with pytest.raises(CommandError, match="has topics or views"):
        sql("DROP DATABASE power")
    assert len(read_sub_tables(sql.session, "power")) == 1
    sql("DROP STABLE meters")
    assert sql("DROP DATABASE power") == "dropped power"
