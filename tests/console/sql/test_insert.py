"""INSERT: rows become records with keys, tags and times, all or none of a statement's that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from console.errors import CommandError
from console.sql.records import read_all
from protocol.record_reader import Record
from tests.broker.gateway import START_MS
from tests.broker.kit import create, read
from tests.console.sql.conftest import Sql


@pytest.fixture
def power(sql: Sql) -> Sql:
    """Return a session with the supertable meters in the database power, and the sub-table d1 in it."""
    sql("CREATE DATABASE power VGROUPS 1")
    sql(
        "CREATE STABLE power.meters (ts timestamp, current float, voltage int, phase float)"
        " TAGS (location binary(64), groupId int, active bool, since timestamp)"
    )
    sql("CREATE TABLE d1 USING meters (location, groupId) TAGS ('x', 2)")
    return sql


def rows(sql: Sql, topic: str = "meters") -> list[Record]:
    return list(read_all(sql.session, topic))


def test_rows_of_a_sub_table_carry_its_tags_once_in_a_statement(power: Sql) -> None:
    text = (
        "INSERT INTO d1 VALUES ('2018-10-03 14:38:05.000', 10.3, 219, 0.31) (1538577495000, 12.6, NULL, 0.33)"
    )
    assert power(text) == "inserted 2 rows into d1"
    tags = (("kawal.tag.location", b"x"), ("kawal.tag.groupId", b"2"))
    first = b'{"ts":1538577485000,"current":10.3,"voltage":219,"phase":0.31}'
    assert rows(power) == [
        Record(0, 1538577485000, b"d1", first, tags),
        Record(1, 1538577495000, b"d1", b'{"ts":1538577495000,"current":12.6,"phase":0.33}', ()),
    ]  # fmt: skip


def test_using_declares_a_sub_table_and_keeps_the_tags_of_one_that_is_there(power: Sql) -> None:
    text = (
        "INSERT INTO d2 USING meters TAGS ('ü', 3, true, '2020-01-01') VALUES (NOW, 1, 2, 3)"
        " power.d1 USING power.meters (groupId) TAGS (9) (ts, voltage) VALUES (NOW, 7)"
    )
    assert power(text) == "inserted 2 rows into 2 tables"
    assert [row["table_name"] for row in power("SHOW TABLES")] == ["d1", "d2"]
    d2, d1 = rows(power)
    assert dict(d2.headers) == {
        "kawal.tag.location": "ü".encode(),
        "kawal.tag.groupId": b"3",
        "kawal.tag.active": b"true",
        "kawal.tag.since": b"2020-01-01T00:00:00.000Z",
    }
    assert dict(d1.headers)["kawal.tag.groupId"] == b"2"
    assert d1.value == b'{"ts":%d,"voltage":7}' % START_MS


def test_tags_that_were_inserted_are_those_that_views_show(power: Sql) -> None:
    power("CREATE TOPIC v AS SELECT tbname, location, groupId, active, since FROM power.meters")
    power("INSERT INTO d2 USING meters TAGS ('ü', 3, true, '2020-01-01') VALUES (NOW, 1, 2, 3)")
    power("INSERT INTO d2 VALUES (NOW, 4, 5, 6)")
    shown = '{"tbname":"d2","location":"ü","groupId":3,"active":true,"since":1577836800000}'.encode()
    assert read(power.gateway.client(), "v") == [shown, shown]


def test_a_supertable_takes_rows_of_many_tables_by_their_names(power: Sql) -> None:
    text = (
        "INSERT INTO power.meters (tbname, ts, voltage, location) VALUES"
        " ('d3', 1538548685000, 221, 'a;b'), ('d4', 1538548685001, 1, NULL), ('d3', 1538548685002, 2, 'c')"
    )
    assert power(text) == "inserted 3 rows into 2 tables"
    assert [row["table_name"] for row in power("SHOW TABLES")] == ["d1", "d3", "d4"]
    first, second, third = rows(power)
    assert (first.key, first.headers) == (b"d3", (("kawal.tag.location", b"a;b"),))
    assert (second.key, second.headers) == (b"d4", ())
    assert (third.key, third.headers) == (b"d3", (("kawal.tag.location", b"c"),))
    assert power("INSERT INTO d4 VALUES (NOW, 1, 2, 3)") == "inserted 1 row into d4"


def test_a_table_without_tags_has_its_own_name_as_key(sql: Sql) -> None:
    sql("CREATE TABLE log (line varchar(100))")
    assert sql("INSERT INTO log VALUES ('a') ('b')") == "inserted 2 rows into log"
    found = [record for index in range(2) for record in read_all(sql.session, "log", index)]
    assert [(record.key, record.timestamp_ms) for record in found] == [(b"log", START_MS)] * 2


def test_rows_come_from_a_csv_file(power: Sql, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('2018-10-03 14:38:05,"10.5", 219,\n1538577486000,1,2,3\n')
    assert power(f"INSERT INTO d1 FILE '{path}'") == "inserted 2 rows into d1"
    assert rows(power)[0].value == b'{"ts":1538577485000,"current":10.5,"voltage":219}'
    path.write_text("1,2\n")
    with pytest.raises(CommandError, match="line 1 has 2 values for 4 columns"):
        power(f"INSERT INTO d1 FILE '{path}'")
    path.write_text("1,2,x,4\n")
    with pytest.raises(CommandError, match="line 1: 'x' is not a value of column 'voltage int'"):
        power(f"INSERT INTO d1 FILE '{path}'")
    with pytest.raises(CommandError, match="cannot read"):
        power("INSERT INTO d1 FILE '/nowhere/rows.csv'")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("INSERT INTO d1 VALUES (NOW, 1, 2, 3) (NOW, 1, 2)", "row 2 has 3 values for 4 columns"),
        ("INSERT INTO d1 VALUES (NOW, 1, 2, 3), (NOW, 1, 'x', 3)", "row 2: 'x' is not a value of column"),
        ("INSERT INTO d1 VALUES (NULL, 1, 2, 3)", "column 'ts', the time of the row, needs a value"),
        ("INSERT INTO d1 (current) VALUES (1)", "column 'ts', the time of the row, needs a value"),
        ("INSERT INTO d1 (ts, watts) VALUES (NOW, 1)", "there is no column 'watts'; there are ts, current"),
        ("INSERT INTO d1 (ts, location) VALUES (NOW, 'x')", "there is no column 'location'"),
        ("INSERT INTO d9 VALUES (NOW, 1, 2, 3)", "there is no table 'd9'; create it, or name its supertable"),
        ("INSERT INTO meters VALUES (NOW, 1, 2, 3)", "'meters' is a supertable: name the columns, tbname"),
        ("INSERT INTO meters (ts, voltage) VALUES (NOW, 1)", "'meters' is a supertable"),
        ("INSERT INTO meters (tbname, ts) VALUES (NULL, NOW)", "tbname is NULL"),
        ("INSERT INTO d1 USING gates TAGS (1) VALUES (NOW)", "table 'd1' is one of 'meters', not of 'gates'"),
        ("INSERT INTO d1", "expected VALUES"),
        ("INSERT INTO d1 VALUES", "expected ("),
        ("INSERT INTO (a) VALUES (1)", "expected a name"),
        ("INSERT INTO d1 VALUES (NOW, 'x", "cannot be read"),
        ("INSERT INTO d1 FILE x", "expected a text in quotes"),
        ("INSERT INTO plain VALUES (1)", "declares no columns"),
        ("INSERT INTO late VALUES (1)", "'late' is a view over 'meters' and read-only"),
    ],
)  # fmt: skip
def test_what_cannot_be_inserted_is_refused_and_nothing_is_written(power: Sql, text: str, words: str) -> None:
    create(power.gateway.client(), "plain")
    power("CREATE STABLE power.gates (ts timestamp) TAGS (n int)")
    power("CREATE TOPIC late AS SELECT * FROM meters")
    with pytest.raises(CommandError) as refused:
        power(text)
    assert words in str(refused.value)
    assert rows(power) == []


def test_a_statement_may_have_many_thousand_rows(connect: Callable[..., Sql]) -> None:
    sql = connect()
    sql("CREATE TABLE t (ts timestamp, n int)")
    values = " ".join(f"({START_MS - number}, {number})" for number in range(5_000))
    assert sql(f"INSERT INTO t VALUES {values}") == "inserted 5000 rows into t"
    assert sql("SELECT COUNT(*) FROM t") == [{"count(*)": 5_000}]
