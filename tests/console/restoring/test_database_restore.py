"""A database is the same again on another server, or under another name."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.restoring.database_restore import DatabaseRestore, Order, Outcome
from console.restoring.group_copies import progress_of
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.record_reader import Headers, Record
from protocol.record_writer import encode_batch
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.group_reads import configure, member, records, seen
from tests.broker.groups import committing
from tests.broker.kit import batch, create, fetch, offset_of, records_of, send
from tests.broker.topic_changes import alter, delete, grow
from tests.broker.txn import Producer
from tests.console.restoring.servers import HERE, THERE, sessions, two_servers

KEPT = ("kept", b"\x00")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Gateway]:
    return two_servers(monkeypatch)


def lived(gateway: Gateway) -> Client:
    """Make a database in which everything has happened that can happen to one."""
    client = gateway.client()
    create_database(client, "power", vnodes="3", **{"retention.ms": "86400000"})
    place = {"kawal_database": "power"}
    create(client, "meters", 2, **place, kawal_columns="v int, location string tag")
    create(client, "state", 1, **place, cleanup_policy="compact")
    create(client, "gone", 1, **place)
    create(client, "empty", 4, **place)
    headed = [
        Record(0, START_MS - 5, b"d1", b'{"v":1}', (("kawal.tag.location", b"here"), KEPT)),
        Record(1, START_MS - 9, b"d2", None),
        Record(2, START_MS, None, b"", (("null", None),)),
    ]
    send(client, "meters", encode_batch(headed), 0)
    send(client, "gone", batch(b"lost"))
    delete(gateway, "gone")
    create(client, "gone", 2, **place)
    send(client, "gone", batch(b"new"), 1)
    for number in range(4):
        send(client, "state", batch(b"%d" % number, key=b"k%d" % (number % 2)))
    alter(client, "meters", "kawal.columns", "v int, location string tag, w int")
    grow(client, "meters", 5)
    for partition in range(5):
        for number in range(3):
            send(client, "meters", batch(b'{"v":%d}' % number), partition)
    producer = Producer(gateway)
    producer.write("empty", 2, b"aborted")
    producer.abort()
    producer.write("empty", 2, b"committed")
    producer.commit()
    deleted = DeleteRecordsPartition(partition_index=0, offset=4)
    asked = DeleteRecordsTopic(name="meters", partitions=[deleted])
    client.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1), 2)
    return client


def restored(order: Order) -> Outcome:
    here, there = sessions()
    return DatabaseRestore(here, there, order).run()


def contents(client: Client, name: str, partition: int = 0) -> list[tuple[bytes | None, ...]]:
    start = offset_of(client, name, -2, partition).offset
    found = records_of(fetch(client, name, start, partition).records)
    return [(record.key, record.value) for record in found if record.offset >= start]


def test_a_database_is_the_same_on_another_server(servers: dict[str, Gateway]) -> None:
    lived(servers[HERE])
    outcome = restored(Order("power", "power"))
    assert (outcome.topics, outcome.records, outcome.checked) == (4, 14 + 1 + 1 + 4, 14 + 1 + 1 + 2)
    there = servers[THERE]
    topics = {topic.name: topic for topic in there.broker.catalogue.by_name.values()}
    database = there.broker.catalogue.databases["power"]
    assert database.vnode_count == 3
    assert database.configs["retention.ms"] == "86400000"
    assert {name: topics[name].partition_count for name in ("meters", "state", "gone", "empty")} == {
        "meters": 5,
        "state": 1,
        "gone": 2,
        "empty": 4,
    }
    assert topics["meters"].configs["kawal.columns"] == "v int, location string tag, w int"
    client = there.client()
    assert contents(client, "gone", 1) == [(None, b"new")]
    assert contents(client, "meters") == [(None, b'{"v":1}'), (None, b'{"v":2}')]
    assert not [name for name in servers[HERE].broker.catalogue.by_name if name.startswith("kawal.restore")]


def test_records_keep_headers_and_times_and_say_where_they_come_from(servers: dict[str, Gateway]) -> None:
    client = servers[HERE].client()
    create_database(client, "d", vnodes="1")
    create(client, "t", kawal_database="d")
    send(client, "t", encode_batch([Record(0, START_MS - 5, b"k", None, (KEPT,))]))
    restored(Order("d", "d"))
    (record,) = records_of(fetch(servers[THERE].client(), "t").records)
    assert (record.key, record.value, record.timestamp_ms) == (b"k", None, START_MS - 5)
    origin = f"{servers[HERE].broker.cluster_id}/d".encode()
    assert record.headers == (KEPT, ("kawal.origin", origin))


def test_a_deletion_in_the_log_is_done_to_the_copy(
    servers: dict[str, Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = servers[HERE].client()
    create_database(client, "d", vnodes="1")
    create(client, "t", kawal_database="d")
    for value in (b"1", b"2", b"3"):
        send(client, "t", batch(value))
    here, there = sessions()
    restore = DatabaseRestore(here, there, Order("d", "d"))
    plain = restore._copies.add

    def add(topic: str, partition: int, record: Record, offset: int, more: Headers = ()) -> None:
        plain(topic, partition, record, offset, more)
        if offset == 0:
            # Meanwhile a client deletes what has been read already.
            asked = DeleteRecordsPartition(partition_index=0, offset=2)
            topics = [DeleteRecordsTopic(name="t", partitions=[asked])]
            client.call(DeleteRecordsRequest(topics=topics, timeout_ms=1), 2)

    monkeypatch.setattr(restore._copies, "add", add)
    assert restore.run().checked == 1
    assert contents(servers[THERE].client(), "t") == [(None, b"3")]


def test_a_copy_that_is_not_the_same_is_reported(
    servers: dict[str, Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = servers[HERE].client()
    create_database(client, "d", vnodes="1")
    create(client, "t", kawal_database="d")
    send(client, "t", batch(b"1"))
    here, there = sessions()
    restore = DatabaseRestore(here, there, Order("d", "d"))
    plain = restore._bring_up_to_date

    def meddle() -> None:
        plain()
        send(servers[THERE].client(), "t", batch(b"a stranger's"))

    monkeypatch.setattr(restore, "_bring_up_to_date", meddle)
    with pytest.raises(
        CommandError, match=r"t-0 has 1 records, its copy t-0-?\S* has 2, and they are not the same"
    ):
        restore.run()


def test_a_copy_on_the_same_server_has_other_names(servers: dict[str, Gateway]) -> None:
    client = lived(servers[HERE])
    here, _ = sessions()
    with pytest.raises(CommandError, match=r"topics of these names already: .*meters.*--prefix"):
        DatabaseRestore(here, here, Order("power", "copy")).run()
    DatabaseRestore(here, here, Order("power", "copy", prefix="copy.")).run()
    assert contents(client, "copy.gone", 1) == [(None, b"new")]
    assert servers[HERE].broker.find_topic("copy.gone").database == "copy"


def test_topics_whose_creation_is_in_no_log_are_made_as_they_are(servers: dict[str, Gateway]) -> None:
    client = servers[HERE].client()
    create(client, "t", 2, kawal_columns="v int")
    send(client, "t", batch(b"1"), 1)
    outcome = restored(Order("default", "default"))
    assert (outcome.topics, outcome.records, outcome.checked) == (1, 1, 1)
    made = servers[THERE].broker.find_topic("t")
    assert (made.partition_count, made.configs["kawal.columns"], made.database) == (2, "v int", "default")


def test_two_databases_restored_from_each_other_stand_still(servers: dict[str, Gateway]) -> None:
    client = servers[HERE].client()
    create_database(client, "d", vnodes="1")
    create(client, "t", kawal_database="d")
    send(client, "t", records((b"k", b"own"), (b"k", b"back"), restored=[1]))
    outcome = restored(Order("d", "d", skips_restored=True))
    assert (outcome.records, outcome.checked) == (1, 1)
    copy = servers[THERE].client()
    assert contents(copy, "t") == [(b"k", b"own")]
    configure(copy, "g", consume_excluded="true")
    assert seen(member(servers[THERE], "t"), "t") == []


def test_what_does_not_exist_is_named(servers: dict[str, Gateway]) -> None:
    with pytest.raises(CommandError, match="there is no database 'nowhere'"):
        restored(Order("nowhere", "d"))


def test_views_and_groups_are_restored_with_the_database(servers: dict[str, Gateway]) -> None:
    client = lived(servers[HERE])
    create(client, "v", -1, kawal_sql="SELECT v FROM meters WHERE v > 0")
    create(client, "all", -1, kawal_sql="DATABASE power")
    # Of meters-0 the records below offset 4 were deleted, so the fifth is the copy's first.
    client.call(committing("g", ("meters", 0, 5), ("v", 0, 6), ("all", 0, 3)), 8)
    outcome = restored(Order("power", "power"))
    assert (outcome.views, outcome.groups) == (2, 1)
    assert outcome.left_out == {"g": "its offsets in all are versions of the log"}
    _, there = sessions()
    found = {place: progress.offset for place, progress in progress_of(there, "g").items()}
    before = [contents(reader, "meters")[1:] for reader in (client, servers[THERE].client())]
    assert before[0] == before[1]
    start = offset_of(servers[THERE].client(), "meters", -2).offset
    assert found == {("meters", 0): start + 1, ("v", 0): start + 2}


def test_a_copy_under_other_names_has_neither_views_nor_groups(servers: dict[str, Gateway]) -> None:
    client = lived(servers[HERE])
    create(client, "v", -1, kawal_sql="SELECT v FROM meters")
    client.call(committing("g", ("meters", 0, 5)), 8)
    outcome = restored(Order("power", "power", prefix="copy."))
    assert (outcome.views, outcome.groups, list(outcome.left_out)) == (0, 0, ["v"])
