"""Declared sub-tables are kept in a compacted topic."""

from __future__ import annotations

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
from tests.console.sql.conftest import Sql

ONE = SubTable("d1", "power", "meters", {"location": "ü", "n": None}, START_MS)
OTHER = SubTable("d1", "air", "gates", {}, START_MS + 5)


def test_declarations_survive_in_a_compacted_topic(sql: Sql) -> None:
    assert read_sub_tables(sql.session) == []
    declare(sql.session, [ONE, OTHER], START_MS)
    sql.gateway.restart()
    assert read_sub_tables(sql.session) == [OTHER._replace(created_ms=START_MS), ONE]
    assert configs(sql.gateway.client(), TABLES_TOPIC)["cleanup.policy"].value == "compact"


def test_nothing_declared_makes_no_topic(sql: Sql) -> None:
    declare(sql.session, [], START_MS)
    assert sql.session.find_topic(TABLES_TOPIC) is None


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
