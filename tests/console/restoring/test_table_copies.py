"""Sub-tables that records declare are the same in a restored database, with their tags."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.errors import CommandError
from console.restoring.database_restore import PLACES, DatabaseRestore, Order, Outcome
from console.restoring.table_copies import Shown, as_stored, missing_tags
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, send
from tests.broker.topic_changes import grow
from tests.broker.views import make_view, read_all
from tests.console.restoring.servers import HERE, THERE, sessions, two_servers

COLUMNS = "v int, city string tag, floor int tag, since timestamp tag, more json tag"


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Gateway]:
    return two_servers(monkeypatch)


def write(client: Client, partition: int, *rows: tuple[bytes, dict[str, Any] | None]) -> None:
    """Write records of keys, with tags in their values; None is a tombstone."""
    records = [
        Record(place, START_MS, key, None if tags is None else json.dumps({"v": place, **tags}).encode())
        for place, (key, tags) in enumerate(rows)
    ]
    assert send(client, "meters", encode_batch(records), partition).error_code == 0


def lived(gateway: Gateway, **settings: str) -> Client:
    """Make a database whose tables have tags that other records have set, some of them deleted since."""
    client = gateway.client()
    create_database(client, "power", vnodes="2", **{"tables.declare": "auto"})
    create(client, "meters", 1, kawal_database="power", kawal_columns=COLUMNS, **settings)
    create(client, "bare", 1, kawal_database="power")
    write(client, 0, (b"d1", {"city": "Faro", "since": 1_700_000_000_001, "more": {"a": [1]}}), (b"d2", {}))
    write(client, 0, (b"d1", {"floor": 3}), (b"d3", {"city": "Porto"}), (b"d3", None), (b"d1", {}))
    grow(client, "meters", 3)
    write(client, 1, (b"d1", {}), (b"d1", {"floor": 4}))
    write(client, 2, (b"d4", {"city": "Lagos"}), (b"d4", None), (b"d4", {"floor": 0}))
    read_tables(client)
    # The first records, with tags, are deleted; d1 keeps them, as the server has read them.
    first = DeleteRecordsPartition(partition_index=0, offset=2)
    asked = DeleteRecordsTopic(name="meters", partitions=[first])
    client.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1), 2)
    send(client, "bare", encode_batch([Record(0, START_MS, b"k", b"no JSON")]))
    return client


def read_tables(client: Client, name: str = "looked") -> list[Any]:
    """Return the tables at the end: topic, partition, name and tags."""
    make_view(client, name, "DATABASE power ONLY META")
    tables: dict[tuple[str, int, str], Any] = {}
    for vnode in range(2):
        for record in read_all(client, name, vnode):
            told = json.loads(record.value or b"")
            if told["type"].endswith(" table"):
                key = told["topic"], told["partition"], told["table"]
                tables[key] = told.get("tags")
    return sorted(([*key, tags] for key, tags in tables.items() if tags is not None), key=repr)


def restored(order: Order) -> Outcome:
    here, there = sessions()
    return DatabaseRestore(here, there, order).run()


def test_a_restored_database_has_the_same_tables_with_the_same_tags(servers: dict[str, Gateway]) -> None:
    client = lived(servers[HERE])
    outcome = restored(Order("power", "power"))
    tables = read_tables(client, "at.the.end")
    assert outcome.tables == len(tables) == 4
    faro = {"city": "Faro", "floor": 3, "since": 1_700_000_000_001, "more": {"a": [1]}}
    assert ["meters", 0, "d1", faro] in tables
    assert ["meters", 1, "d1", faro | {"floor": 4}] in tables
    there = servers[THERE]
    assert read_tables(there.client(), "there") == tables
    there.restart()
    assert read_tables(there.client(), "again") == tables
    assert there.broker.find_topic("meters").configs["kawal.tables.declare"] == "auto"


def test_a_copy_of_a_copy_has_them_too(servers: dict[str, Gateway]) -> None:
    lived(servers[HERE])
    restored(Order("power", "power"))
    tables = read_tables(servers[THERE].client(), "there")
    _, there = sessions()
    outcome = DatabaseRestore(there, there, Order("power", "second", prefix="second.")).run()
    assert outcome.tables == len(tables)


def test_tables_that_differ_are_named(servers: dict[str, Gateway], monkeypatch: pytest.MonkeyPatch) -> None:
    lived(servers[HERE])
    monkeypatch.setattr("console.restoring.database_restore.missing_tags", lambda *_: ())
    with pytest.raises(
        CommandError, match=r"sub-table 'd1' of meters-0 is tagged .*Faro.*, and tagged .*null"
    ):
        restored(Order("power", "power"))


def test_nothing_is_compared_where_no_table_is_declared(servers: dict[str, Gateway]) -> None:
    client = servers[HERE].client()
    create_database(client, "power", vnodes="1")
    create(client, "t", 1, kawal_database="power")
    assert restored(Order("power", "power")).tables == 0


def test_only_tags_that_a_record_does_not_carry_are_added() -> None:
    told = {
        "type": "create table",
        "table": "d",
        "tags": {"city": "Faro", "floor": 3, "since": None, "more": None},
    }
    record = Record(0, 0, b"d", b'{"floor":3}', ())
    assert missing_tags(Shown(record, told), COLUMNS) == (("kawal.tag.city", b"Faro"),)
    headed = record._replace(headers=(("kawal.tag.city", b"Faro"),))
    assert missing_tags(Shown(headed, told), COLUMNS) == ()
    assert missing_tags(Shown(record, {**told, "type": "drop table"}), COLUMNS) == ()
    assert missing_tags(Shown(record, None), COLUMNS) == ()


def test_a_record_is_given_back_without_the_headers_of_the_view() -> None:
    own = (("kawal.table", b"the producer's"), ("h", None))
    places = tuple((name, b"0") for name in sorted(PLACES))
    found = [
        Record(0, 0, b"k", b"v", (*own, *places, *more))
        for more in ((), (("kawal.table", b'{"table":"k"}'),), (("kawal.table", None),))
    ]
    assert [as_stored(record, PLACES).record.headers for record in found] == [own] * 3
    assert [as_stored(record, PLACES).told for record in found] == [
        None,
        {"table": "k"},
        None,
    ]
