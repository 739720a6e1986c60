"""The sub-tables that views remember follow changes of topics and deletions, each for itself."""

from __future__ import annotations

from typing import Any

import pytest

from broker.view_topics import declared_tables
from broker.view_topics.database_view import DatabasePartition
from broker.view_topics.declared_tables import DeclaredTables
from broker.view_topics.learning import Learning
from broker.view_topics.stream_owners import StreamOwners
from broker.view_topics.view_slices import SliceBudget
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, fetch
from tests.broker.topic_changes import alter, delete
from tests.broker.view_topics.test_declared_tables import COLUMNS, changes, made, row, shown, write
from tests.broker.views import PLACE
from views.columns import tags_in


def tables_of(gateway: Gateway, view: str = "with") -> DeclaredTables:
    partition = gateway.partition(view)
    assert isinstance(partition, DatabasePartition)
    assert partition._tables is not None
    return partition._tables


def truncate(client: Client, topic: str, offset: int) -> None:
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=1)
    assert client.call(request, 2).topics[0].partitions[0].error_code == 0


def many(client: Client, count: int, **settings: str) -> list[str]:
    """Create topics that declare their tables, with a record each; return their names."""
    names = [f"m{number}" for number in range(count)]
    for name in names:
        create(
            client,
            name,
            1,
            **{PLACE: "d", "kawal.columns": COLUMNS, "kawal.tables.declare": "auto", **settings},
        )
        write(client, row(b"k", city="Lisbon"), row(b"k"), topic=name)
    return names


def test_a_deletion_has_its_own_stream_looked_at_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    _, client = made()
    many(client, 30)
    assert len(changes(client, "with")) == 30
    looked: list[int] = []
    plain = StreamOwners.topic_of

    def topic_of(self: StreamOwners, stream_id: int) -> Any:
        looked.append(stream_id)
        return plain(self, stream_id)

    monkeypatch.setattr(StreamOwners, "topic_of", topic_of)
    truncate(client, "m7", 1)
    assert len(changes(client, "with")) == 30, "the record that is left creates it"
    assert len(looked) == 1


def test_deletions_in_topics_that_declare_nothing_leave_what_was_told_as_it_is() -> None:
    gateway, client = made()
    write(client, row(b"m", city="Lisbon"), row(b"m"))
    write(client, row(b"n"), row(b"n"), topic="plain")
    assert len(changes(client, "with")) == 1
    before = tables_of(gateway).revision
    truncate(client, "plain", 1)
    assert len(changes(client, "with")) == 1
    assert tables_of(gateway).revision == before
    truncate(client, "t", 1)
    assert len(changes(client, "with")) == 1
    assert tables_of(gateway).revision == before + 1


@pytest.mark.parametrize("view", ["with", "t.with"])
def test_a_table_of_which_no_record_is_left_is_created_again(view: str) -> None:
    _, client = made()
    write(client, row(b"m", city="Lisbon"), row(b"n"))
    assert len(changes(client, view)) == 2
    truncate(client, "t", 1)
    end = fetch(client, view).high_watermark
    write(client, row(b"m"), row(b"n"))
    assert [told[:2] for told in changes(client, view, offset=end)] == [("create table", "m")]
    assert [told[:2] for told in changes(client, view)] == [("create table", "n"), ("create table", "m")]


def test_that_segments_were_deleted_is_noticed_without_their_streams() -> None:
    gateway, client = made()
    write(client, row(b"m", city="Lisbon"))
    assert len(changes(client, "with")) == 1
    tables, log = tables_of(gateway), gateway.partition("t").vnode.log
    before = tables.revision
    # As if one had been deleted since.
    tables._first -= 1
    tables.truncated(log.deletions)
    assert tables.revision == before + 1
    tables.truncated(log.deletions)
    assert tables.revision == before + 1


@pytest.mark.parametrize("view", ["t.with", "t.only"])
def test_views_of_one_topic_follow_its_changes_alone(view: str) -> None:
    gateway, client = made()
    many(client, 2)
    write(client, row(b"m", city="Lisbon", wing="left"))
    assert [told[:2] for told in changes(client, view)] == [("create table", "m")]
    before = tables_of(gateway, view).revision
    alter(client, "m1", "kawal.columns", COLUMNS + ", wing string tag")
    assert len(changes(client, view)) == 1
    assert tables_of(gateway, view).revision == before
    alter(client, "t", "kawal.columns", COLUMNS + ", wing string tag")
    assert changes(client, view) == [("create table", "m", {"city": "Lisbon", "floor": None, "wing": "left"})]
    alter(client, "t", "kawal.tables.declare", "sql")
    assert changes(client, view) == []
    assert not tables_of(gateway, view).has_topics


def test_a_topic_that_is_created_or_changed_has_no_other_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, client = made()
    many(client, 30)
    assert len(changes(client, "with")) == 30
    before, read = tables_of(gateway).revision, list[str]()

    def noted(text: str) -> Any:
        read.append(text)
        return tags_in(text)

    monkeypatch.setattr(declared_tables, "tags_in", noted)
    create(client, "new", 1, **{PLACE: "d", "kawal.columns": COLUMNS, "kawal.tables.declare": "auto"})
    alter(client, "m3", "kawal.columns", COLUMNS + ", w int")
    assert len(changes(client, "with")) == 30
    assert (read, tables_of(gateway).revision) == ([], before)
    write(client, row(b"k"), topic="new")
    assert len(changes(client, "with")) == 31
    assert read == [COLUMNS]


def test_after_more_deletions_than_are_known_views_show_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wal.state.DELETIONS_KEPT", 2)
    gateway, client = made()
    names = many(client, 6)
    assert len(changes(client, "with")) == 6
    for name in names[:5]:
        truncate(client, name, 1)
    wanted = [("create table", "k", {"city": "Lisbon", "floor": None})] * 6
    assert changes(client, "with") == changes(client, "only") == wanted
    gateway.restart()
    assert changes(gateway.client(), "with") == wanted


@pytest.mark.parametrize("kept", [1_000, 2], ids=["known", "too many"])
def test_the_tags_of_deleted_topics_are_forgotten(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr("wal.state.DELETIONS_KEPT", kept)
    gateway, client = made()
    names = many(client, 6)
    write(client, row(b"m", city="Lisbon"))
    assert len(changes(client, "with")) == 7
    tables = tables_of(gateway)
    assert len(tables._streams) == 7
    before = gateway.partition("t").vnode.log.deletions
    for name in names:
        delete(gateway, name)
    gateway.advance(60_000)
    gateway.settle()
    assert gateway.partition("t").vnode.log.deletions >= before + 6
    assert len(changes(client, "with")) == 1
    gateway.settle()
    assert list(tables._streams) == [gateway.partition("t").stream_id]


def test_a_look_that_began_before_the_first_topic_declared_tables_ends_without_them() -> None:
    gateway, client = made()
    alter(client, "t", "kawal.tables.declare", "sql")
    for _ in range(3):
        write(client, *[row(b"m", city="Lisbon") for _ in range(700)])
    partition = gateway.partition("with")
    assert isinstance(partition, DatabasePartition)
    steps = partition.look(0, SliceBudget())
    next(steps)
    alter(client, "t", "kawal.tables.declare", "auto")
    partition.forget_stale()
    for _ in steps:
        pass
    assert shown(client, "with")[:2] == [
        ("create table", "m", {"city": "Lisbon", "floor": None}),
        ("m", {"city": "Lisbon", "floor": None}),
    ]
    assert Learning(tables_of(gateway), 0).has_tables
