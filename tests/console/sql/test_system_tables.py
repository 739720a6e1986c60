"""The tables of information_schema have TDengine's columns, and rows of what is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.errors import UsageError
from console.sql.system_tables import SYSTEM_TABLES, rows_of, system_table
from tests.console.sql.conftest import Sql

OF_TDENGINE = {
    "ins_topics": ("topic_name", "db_name", "create_time", "sql", "schema", "meta", "type"),
    "ins_subscriptions": (
        "topic_name",
        "consumer_group",
        "vgroup_id",
        "consumer_id",
        "user",
        "fqdn",
        "offset",
        "rows",
    ),
    "perf_consumers": (
        "consumer_id",
        "consumer_group",
        "client_id",
        "user",
        "fqdn",
        "status",
        "topics",
        "up_time",
        "subscribe_time",
        "rebalance_time",
        "parameters",
    ),
}


@pytest.mark.parametrize("name", list(OF_TDENGINE))
def test_the_first_columns_are_those_of_tdengine(name: str) -> None:
    columns = SYSTEM_TABLES[name].columns.names
    assert tuple(columns[: len(OF_TDENGINE[name])]) == OF_TDENGINE[name]


def test_every_row_has_a_value_for_each_column(sql: Sql) -> None:
    sql("CREATE DATABASE power VGROUPS 1 WAL_RETENTION_PERIOD 60 WAL_RETENTION_SIZE 64 WAL_LEVEL 1")
    sql("CREATE STABLE power.meters (ts timestamp, v int) TAGS (n int)")
    sql("INSERT INTO d1 USING meters TAGS (7) VALUES (NOW, 1)")
    sql("CREATE TOPIC t AS SELECT v FROM meters")
    counts = {}
    for name, table in SYSTEM_TABLES.items():
        result = rows_of(table, sql.session)
        assert all(len(row) == len(result.columns) for row in result.rows), name
        counts[name] = len(result.rows)
    assert counts["ins_vgroups"] == 3
    assert counts["ins_tags"] == counts["ins_tables"] == counts["ins_stables"] == 1
    assert counts["ins_columns"] == 3


def test_a_database_is_shown_in_tdengines_units(sql: Sql) -> None:
    sql("CREATE DATABASE power WAL_RETENTION_PERIOD 60 WAL_RETENTION_SIZE 64 WAL_LEVEL 1 WAL_FSYNC_PERIOD 70")
    (row,) = [row for row in sql("SHOW DATABASES") if row["name"] == "power"]
    assert (row["wal_level"], row["wal_fsync_period"]) == (1, 70)
    assert (row["wal_retention_period"], row["wal_retention_size"]) == (60, 64)


def test_a_database_that_waits_for_an_object_store_too_has_the_level_of_one_that_syncs(
    connect: Callable[..., Sql],
) -> None:
    sql = connect(kawal_remote_store="s3://lake/logs")
    sql("CREATE DATABASE power durability 'remote'")
    (row,) = [row for row in sql("SHOW DATABASES") if row["name"] == "power"]
    assert (row["wal_level"], row["wal_fsync_period"], row["durability"]) == (2, 0, "remote")


def test_names_of_tables_are_known_in_both_schemas_in_any_case() -> None:
    assert system_table("Performance_Schema.PERF_CONSUMERS") is SYSTEM_TABLES["perf_consumers"]
    assert system_table("information_schema.perf_consumers") is SYSTEM_TABLES["perf_consumers"]
    assert system_table("power.ins_topics") is None
    assert system_table("meters") is None
    with pytest.raises(UsageError, match="has no table 'ins_x'; there are ins_topics"):
        system_table("information_schema.ins_x")
