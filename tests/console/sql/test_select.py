"""SELECT from information_schema and from topics, by the rules of views."""

from __future__ import annotations

import pytest

from console.errors import CommandError, UsageError
from tests.broker.kit import batch, create, send
from tests.console.sql.conftest import Sql

COLUMNS = "id bigint, carrier string tag, delay int"


@pytest.fixture
def flights(sql: Sql) -> Sql:
    client = sql.gateway.client()
    create(client, "flights", 2, **{"kawal.columns": COLUMNS})
    for number, delay in enumerate((5, 41, 30, 7)):
        data = b'{"id":%d,"carrier":"c%d","delay":%d}' % (number, number % 2, delay)
        send(client, "flights", batch(data, key=b"k%d" % number), number % 2)
    send(client, "flights", batch(b'{"id":9,"delay":null}', key=b"k1"), 1)
    sql("CREATE TOPIC late AS SELECT id FROM flights WHERE delay > 20")
    return sql


def test_tables_of_the_server_are_asked_like_topics(flights: Sql) -> None:
    assert flights(
        "SELECT UPPER(topic_name) AS name, partitions * 2 AS twice FROM information_schema.ins_topics"
        " WHERE type = 'query' AND `sql` LIKE '%delay%'"
    ) == [{"name": "LATE", "twice": 4}]
    assert [row["topic_name"] for row in flights("SELECT * FROM INFORMATION_SCHEMA.INS_TOPICS")] == [
        "flights",
        "late",
    ]
    assert flights("SELECT COUNT(*) FROM information_schema.ins_columns WHERE is_tag") == [{"count(*)": 1}]
    assert flights("SELECT * FROM performance_schema.perf_consumers") == []


def test_rows_are_sorted_and_limited(flights: Sql) -> None:
    text = "SELECT id, delay FROM flights ORDER BY delay DESC, id LIMIT 3"
    assert [row["id"] for row in flights(text)] == [1, 2, 3]
    assert [row["id"] for row in flights("select id, delay from flights order by DELAY")] == [9, 0, 3, 2, 1]
    assert flights("SELECT id FROM flights LIMIT 0") == []


def test_a_topic_shows_what_a_view_of_it_would(flights: Sql) -> None:
    assert flights("SELECT id, carrier FROM flights WHERE delay > 20 OR delay IS NULL ORDER BY id") == [
        {"id": 1, "carrier": "c1"},
        {"id": 2, "carrier": "c0"},
        {"id": 9, "carrier": "c1"},
    ]
    assert flights("SELECT * FROM flights WHERE id = 3") == [
        {
            "partition": 1,
            "offset": 1,
            "timestamp": 1_700_000_000_000,
            "key": "k3",
            "value": '{"id":3,"carrier":"c1","delay":7}',
        }
    ]
    assert flights("SELECT COUNT(*) FROM flights WHERE delay > 6") == [{"count(*)": 3}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT * FROM information_schema.ins_nothing", "information_schema has no table 'ins_nothing'"),
        ("SELECT x FROM information_schema.ins_topics", "x"),
        ("SELECT COUNT(*), 1 FROM flights", "COUNT(*) stands alone"),
        ("SELECT id FROM flights LIMIT x", "LIMIT takes a number"),
        (f"SELECT id FROM flights LIMIT {10**18}", "LIMIT takes a number"),
        ("SELECT id FROM flights LIMIT 1 2", "LIMIT takes a number"),
        ("SELECT id FROM flights ORDER BY delay", "ORDER BY delay: the result has the columns id"),
        ("SELECT id FROM flights ORDER BY id + 1", "ORDER BY takes columns of the result"),
        ("SELECT id FROM flights GROUP BY id", "GROUP BY is not possible"),
        ("SELECT id FROM late", "'late' is a view; select from 'flights'"),
        ("SELECT id FROM gone", "there is no topic 'gone'"),
        ("SELECT nothing FROM flights", "nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_selected_is_refused_by_name(flights: Sql, text: str, words: str) -> None:
    with pytest.raises((CommandError, UsageError)) as refused:
        flights(text)
    assert words in str(refused.value)


def test_values_of_other_types_are_sorted_without_an_error(flights: Sql) -> None:
    rows = flights("SELECT topic_name, schema FROM information_schema.ins_topics ORDER BY schema")
    assert len(rows) == 2
