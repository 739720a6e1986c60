"""Statements about topics against a whole broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.errors import CommandError, UsageError
from console.sql.topic_requests import checked, create_topic
from tests.broker.groups import beating
from tests.broker.kit import batch, create, read, send
from tests.console.sql.conftest import Sql

LATE = "SELECT carrier FROM flights WHERE delay > 15"


@pytest.fixture
def flights(sql: Sql) -> Sql:
    client = sql.gateway.client()
    create(client, "flights", 1, **{"kawal.columns": "carrier string, delay int"})
    send(client, "flights", batch(b'{"carrier":"TP","delay":20}', b'{"carrier":"BA","delay":3}'))
    assert sql(f"CREATE TOPIC late AS {LATE}") == "created late"
    return sql


def test_a_view_is_created_reloaded_and_dropped(flights: Sql) -> None:
    client = flights.gateway.client()
    assert read(client, "late") == [b'{"carrier":"TP"}']
    assert flights("RELOAD TOPIC late AS SELECT delay FROM flights") == "reloaded late"
    assert read(client, "late") == [b'{"delay":20}', b'{"delay":3}']
    assert flights("RELOAD TOPIC IF EXISTS gone AS SELECT * FROM flights") == "gone does not exist"
    assert flights("DROP TOPIC IF EXISTS late") == "dropped late"
    assert flights("DROP TOPIC IF EXISTS late") == "late does not exist"
    with pytest.raises(CommandError, match="'late'"):
        flights("RELOAD TOPIC late AS SELECT * FROM flights")


def test_if_not_exists_forgives_the_same_view_only(flights: Sql) -> None:
    same = f"CREATE TOPIC IF NOT EXISTS late AS  {LATE.replace('WHERE', 'where')}"
    assert flights(same) == "late exists already"
    with pytest.raises(CommandError, match=f"'late' exists and is another view: {LATE}"):
        flights("CREATE TOPIC IF NOT EXISTS late AS SELECT * FROM flights")
    with pytest.raises(CommandError, match="'flights' exists and is not a view"):
        flights("CREATE TOPIC IF NOT EXISTS flights AS SELECT * FROM late")
    with pytest.raises(CommandError, match="already exists"):
        flights(f"CREATE TOPIC late AS {LATE}")


@pytest.mark.parametrize("meta", ["WITH META ", "only meta "])
def test_views_of_changes_are_created(flights: Sql, meta: str) -> None:
    assert flights(f"CREATE TOPIC m {meta}AS STABLE flights") == "created m"
    assert flights.session.topic("m").meta == meta.split()[0].lower()


def test_a_refusal_is_told_in_the_servers_words(flights: Sql) -> None:
    with pytest.raises(CommandError, match=r"'v': kawal\.sql: there is no topic 'flight' to read"):
        flights("CREATE TOPIC v AS SELECT * FROM flight")
    with pytest.raises(CommandError, match="'flights' is read by the view 'late'"):
        flights("DROP TOPIC flights")


def test_a_topic_with_subscribers_is_dropped_by_force(connect: Callable[..., Sql]) -> None:
    sql = connect(kawal_drop_policy="refuse", kawal_rebalance_interval_ms=0)
    client = sql.gateway.client()
    create(client, "t")
    client.call(beating("g", "m", topics=["t"]), 1)
    with pytest.raises(CommandError, match="DROP TOPIC FORCE"):
        sql("DROP TOPIC t")
    assert sql("DROP TOPIC FORCE t") == "dropped t"
    assert sql("DROP TOPIC IF EXISTS FORCE t") == "t does not exist"


def test_topics_are_shown_with_what_views_read(flights: Sql) -> None:
    late = flights("SHOW TOPICS")[1]
    assert late == {
        "topic_name": "late",
        "type": "query",
        "db_name": "default",
        "partitions": 1,
        "source": "flights",
        "meta": "none",
        "create_time": "2023-11-14T22:13:20.000Z",
        "sql": LATE,
    }


def test_the_statement_that_makes_a_view_is_shown(flights: Sql) -> None:
    assert flights("SHOW CREATE TOPIC late") == [
        {"name": "late", "statement": f"CREATE TOPIC `late` AS {LATE}"}
    ]
    with pytest.raises(CommandError, match="it was not created by a statement"):
        flights("SHOW CREATE TOPIC flights")
    with pytest.raises(CommandError, match="there is no topic 'gone'"):
        flights("SHOW CREATE TOPIC gone")


def test_the_command_that_makes_an_alias_or_a_view_with_bounds_is_shown(flights: Sql) -> None:
    session = flights.session
    own = {"kawal.alias.of": "flights", "kawal.to": "offset 1"}
    checked(create_topic(session, "first", own), "first")
    assert flights("SHOW CREATE TOPIC first")[0]["statement"] == (
        "kawal topics create first --config kawal.alias.of=flights --config 'kawal.to=offset 1'"
    )
    checked(create_topic(session, "again", {"kawal.sql": LATE, "kawal.replay.speed": "60"}), "again")
    assert flights("SHOW CREATE TOPIC again")[0]["statement"] == (
        f"kawal topics create again --config 'kawal.sql={LATE}' --config kawal.replay.speed=60"
    )


def test_topics_are_described_with_columns_and_their_own_settings(flights: Sql) -> None:
    from console.sql.results import Format
    from console.sql.statements import run

    tree = flights("DESCRIBE late")
    assert tree["columns"] == [{"field": "carrier", "type": "string", "note": ""}]
    assert tree["configs"]["kawal.source"] == "flights"
    lines = run(flights.session, "desc topic flights").rendered(Format.TABLE).splitlines()
    assert lines[0] == "flights: log, 1 partition, database default"
    assert lines[2].split() == ["carrier", "string"]


def test_settings_of_a_topic_are_altered_together_or_not_at_all(sql: Sql) -> None:
    client = sql.gateway.client()
    create(client, "orders", 1, **{"kawal.partition.write.bytes.per.sec": "1000"})
    text = "set kawal.partition.autosplit.mode = up , cleanup.policy='delete', retention.ms=5000"
    assert sql(f"alter topic orders {text}") == "altered orders"
    own = sql.gateway.broker.catalogue.by_name["orders"].configs
    assert own["kawal.partition.autosplit.mode"] == "up"
    assert own["retention.ms"] == "5000"
    with pytest.raises(CommandError, match="cannot be disabled again"):
        sql("ALTER TOPIC orders SET kawal.partition.autosplit.mode = disabled, retention.ms = 1")
    assert sql.gateway.broker.catalogue.by_name["orders"].configs["retention.ms"] == "5000"
    assert sql("ALTER TOPIC orders SET kawal.partition.autosplit.mode = paused") == "altered orders"


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TOPIC t SET",
        "ALTER TOPIC t SET a",
        "CREATE TOPIC t",
        "CREATE TOPIC AS SELECT",
        "DROP TOPIC",
        "RELOAD TOPIC t",
        "SHOW CREATE TOPIC",
    ],
)
def test_half_a_statement_is_answered_with_an_example(sql: Sql, text: str) -> None:
    with pytest.raises(UsageError, match="write it like"):
        sql(text)
