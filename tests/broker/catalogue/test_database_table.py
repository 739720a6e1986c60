"""The table of databases: records are planned, confirmed or undone, and a snapshot replays to the same."""

from __future__ import annotations

from broker.catalogue.catalogue_records import (
    DatabaseConfigs,
    DatabaseCreated,
    DatabaseDropped,
    DirectoryRemoved,
    decode_record,
    encode_record,
)
from broker.catalogue.database_table import DatabaseRecord, Databases


def created(name: str = "d", directory: str = "db-1") -> DatabaseCreated:
    return DatabaseCreated(name=name, vnode_count=2, durability="disk", directory=directory)


def replay(table: Databases, *records: DatabaseRecord) -> Databases:
    for record in records:
        table.plan(record)[0]()
    return table


def test_a_database_is_there_for_clients_once_its_record_is_durable() -> None:
    table = Databases()
    confirm, _ = table.plan(created())
    assert not table["d"].recorded
    confirm()
    assert table["d"].recorded


def test_what_is_lost_is_undone() -> None:
    table = replay(Databases(), created())
    told: list[str] = []
    table.listen(lambda database: told.append(database.configs.get("flush.ms", "")))
    for record in (
        created("e", "db-2"),
        DatabaseConfigs(name="d", configs={"flush.ms": "9"}),
        DatabaseDropped(name="d", directory="db-1"),
    ):
        table.plan(record)[1]()
    assert list(table) == ["d"]
    assert table["d"].configs == {}
    assert told == ["9", ""]
    assert table.dropped == {}


def test_a_dropped_directory_is_remembered_until_it_is_removed() -> None:
    table = replay(Databases(), created(), DatabaseDropped(name="d", directory="db-1"))
    assert (dict(table), table.dropped) == ({}, {"db-1": "d"})
    replay(table, DirectoryRemoved(directory="db-1"))
    assert table.dropped == {}


def test_a_snapshot_replays_to_the_same_table_though_a_name_was_used_again() -> None:
    table = replay(
        Databases(),
        created(),
        DatabaseDropped(name="d", directory="db-1"),
        created("d", "db-2"),
        DatabaseConfigs(name="d", configs={"retention.ms": "1"}),
    )
    records = [decode_record(encode_record(record)) for record in table.snapshot()]
    again = replay(Databases(), *records)  # type: ignore[arg-type]
    assert list(again.snapshot()) == list(table.snapshot())
    assert again.dropped == {"db-1": "d"}
    assert again["d"].directory == "db-2"
