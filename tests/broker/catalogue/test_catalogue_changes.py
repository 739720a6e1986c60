"""WITH META and ONLY META: changes of topics appear among the records, where they happened."""

from __future__ import annotations

import errno
import json
from typing import Any

from broker.catalogue.catalogue_changes import CHANGES_STREAM
from broker.catalogue.catalogue_records import TopicConfigs
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.databases import drop_database
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, records_of, send
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic
from tests.broker.topic_changes import alter, delete, grow, told
from tests.broker.views import PLACE, database, make_view, read_all
from wal.memory_faults import failing


def lived() -> tuple[Gateway, list[Any], list[Any]]:
    """Return a broker with a database in which much changed, and what WITH META and ONLY META show of it."""
    gateway, client = database()
    make_view(client, "with", "DATABASE d WITH META")
    make_view(client, "only", "ONLY META AS DATABASE d")
    send(client, "b", batch(b"1"))
    create(client, "c", 1, **{PLACE: "d", "kawal.columns": "ts timestamp, v double"})
    send(client, "c", batch(b"2"))
    alter(client, "c", "kawal.columns", "ts timestamp, v double, w int")
    grow(client, "c", 2)
    delete(gateway, "b")
    send(client, "c", batch(b"3"), 1)
    changes = [
        ("create", "a"),
        ("create", "b"),
        ("create", "c"),
        ("alter", "c"),
        ("grow", "c"),
        ("drop", "b"),
    ]
    everything: list[Any] = [*changes[:3], b"2", *changes[3:], b"3"]
    return gateway, everything, changes


def test_changes_stand_where_they_happened_and_after_a_restart_as_well() -> None:
    gateway, everything, changes = lived()
    for _ in range(2):
        client = gateway.client()
        assert [told(record) for record in read_all(client, "with")] == everything
        assert [told(record) for record in read_all(client, "only")] == changes
        assert [told(record) for record in read_all(client, "all")] == [b"2", b"3"]
        gateway.restart()


def test_a_change_tells_all_that_is_needed_to_make_the_topic_again() -> None:
    gateway, _, _ = lived()
    created = read_all(gateway.client(), "only")[2]
    content = json.loads(created.value or b"")
    assert content == {
        "type": "create",
        "topic": "c",
        "id": gateway.broker.find_topic("c").topic_id.hex,
        "time": START_MS,
        "partitions": 1,
        "configs": {"kawal.columns": "ts timestamp, v double"},
    }


def test_a_split_is_told_with_its_parent_its_child_and_the_cut() -> None:
    gateway, client = database()
    make_view(client, "only", "ONLY META AS DATABASE d")
    split_topic(client, "s", 1, **{PLACE: "d"})
    send(client, "s", keyed((LOW, b"1"), (HIGH, b"2")))
    assert split(client, 0, "s") == (0, "")
    for _ in range(2):
        change = read_all(gateway.client(), "only")[-1]
        assert told(change) == ("grow", "s")
        content = json.loads(change.value or b"")
        assert content["split"] == {"parent": 0, "child": 1, "cut": 2}
        assert content["partitions"] == 2
        gateway.restart()


def test_replayed_into_an_empty_server_the_view_gives_topics_and_records_again() -> None:
    gateway, _, _ = lived()
    copy = Gateway()
    target = copy.client()
    for record in read_all(gateway.client(), "with"):
        if ("kawal.kind", b"meta") not in record.headers:
            headers = dict(record.headers)
            name, partition = (headers[f"kawal.{part}"] or b"" for part in ("topic", "partition"))
            send(target, name.decode(), batch(record.value or b""), int(partition))
            continue
        change = json.loads(record.value or b"")
        match change["type"]:
            case "create":
                create(target, change["topic"], change["partitions"], **change["configs"])
            case "grow":
                grow(target, change["topic"], change["partitions"])
            case "alter":
                for key, value in change["configs"].items():
                    alter(target, change["topic"], key, value)
            case "drop":
                delete(copy, change["topic"])
    original, copied = (
        {
            topic.name: (topic.partition_count, topic.configs)
            for topic in server.broker.catalogue.by_name.values()
            if topic.view is None
        }
        for server in (gateway, copy)
    )
    assert copied == original
    records = records_of(bytes(fetch(target, "c", 0, 1).records))
    assert [bytes(record.value or b"") for record in records] == [b"3"]


def test_a_fetch_that_waits_for_changes_is_woken_by_one_and_not_by_records() -> None:
    gateway, client = database()
    make_view(client, "only", "DATABASE d ONLY META")
    end = fetch(client, "only").high_watermark
    reader = gateway.client()
    reader.send(fetching({("only", 0): end}, max_wait_ms=10_000), 12)
    send(client, "b", batch(b"x"))
    gateway.settle()
    assert reader.answers() == []
    create(client, "c", 1, **{PLACE: "d"})
    gateway.settle()
    (answer,) = reader.answers()
    records = records_of(bytes(fetched(answer)["only", 0].records))
    assert [told(record) for record in records] == [("create", "c")]


def test_the_default_database_tells_of_changes_as_long_as_somebody_wants_them() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "before")
    assert not any(
        stream == CHANGES_STREAM
        for frame in gateway.broker.vnodes["default"][0].log.frames(0)
        for stream, _ in frame.read_kinds()
    )
    make_view(client, "changes", "DATABASE default ONLY META")
    create(client, "after")
    assert [told(record) for record in read_all(client, "changes")] == [("create", "after")]


def test_an_answer_waits_until_the_change_is_told() -> None:
    gateway, client = database(vnodes=2)
    make_view(client, "only", "DATABASE d ONLY META")
    logs = [vnode.log for vnode in gateway.broker.vnodes["d"]]
    create(client, "c", 1, **{PLACE: "d"})
    gateway.crash()
    for partition in range(2):
        shown = [told(record) for record in read_all(gateway.client(), "only", partition)]
        assert shown == [("create", "a"), ("create", "b"), ("create", "c")]
    assert len(logs) == 2


def test_a_log_that_has_failed_does_not_keep_topics_from_being_made() -> None:
    gateway, client = database()
    gateway.disk.faults.append(failing("sync", errno.EIO, path="db-"))
    create(client, "c", 1, **{PLACE: "d"})
    create(client, "e", 1, **{PLACE: "d"})
    gateway.advance(5_000)
    send(client, "e", batch(b"x"))
    assert [record.value for record in read_all(client)] == [b"x"]


def test_dropped_databases_are_waited_for_no_more() -> None:
    gateway, client = database()
    for name in ("a", "b", "all"):
        delete(gateway, name)
    assert drop_database(client, "d").error_code == 0
    create(client, "t")
    assert fetch(client, "t").high_watermark == 0


def test_a_topic_that_is_deleted_at_once_tells_of_its_end() -> None:
    gateway, client = database()
    make_view(client, "only", "DATABASE d ONLY META")
    topic = gateway.broker.find_topic("b")
    gateway.broker.topics.change_configs(topic, {"retention.ms": "5"}, gateway.now_ms)
    delete(gateway, "b")
    assert [told(record) for record in read_all(client, "only")][-1] == ("drop", "b")


def test_a_change_that_was_lost_with_its_log_is_waited_for_no_more() -> None:
    gateway, client = database()
    gateway.advance(5_000)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="db-"))
    topic_id = gateway.broker.find_topic("b").topic_id.hex
    gateway.broker.metadata_log.changes.confirmed(TopicConfigs(topic_id=topic_id, configs={}), gateway.now_ms)
    gateway.settle()
    create(client, "c", 1, **{PLACE: "d"})
    gateway.advance(5_000)
    create(client, "e", 1, **{PLACE: "d"})


def test_a_deletion_of_records_stands_where_it_happened_on_the_partitions_own_vnode() -> None:
    gateway, client = database()
    make_view(client, "with", "DATABASE d WITH META")
    send(client, "a", batch(b"1"))
    send(client, "a", batch(b"2"))
    for offset in (1, 1, 0):
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        asked = DeleteRecordsTopic(name="a", partitions=[partition])
        (answer,) = client.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1), 2).topics
        assert answer.partitions[0].error_code == 0
    send(client, "a", batch(b"3"))
    vnodes = gateway.broker.catalogue.databases["d"].vnode_count
    for _ in range(2):
        client = gateway.client()
        shown = [told(record) for index in range(vnodes) for record in read_all(client, "with", index)]
        assert shown.count(("delete", "a")) == 1, "what is deleted already is not deleted again"
        records = [record for index in range(vnodes) for record in read_all(client, "with", index)]
        places = [told(record) for record in records]
        assert places.index(b"2") < places.index(("delete", "a")) < places.index(b"3")
        change = json.loads(records[places.index(("delete", "a"))].value or b"")
        assert {"type": "delete", "topic": "a", "partition": 0, "before": 1}.items() <= change.items()
        gateway.crash()
