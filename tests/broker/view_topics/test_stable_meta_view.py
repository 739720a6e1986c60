"""STABLE … WITH META: a topic's records with the topic's own changes among them, at versions of the vnode."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.compression import Codec
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, offset_of, records_of, send
from tests.broker.topic_changes import alter, delete, grow, told
from tests.broker.views import PLACE, make_view, origin, read_all
from views.opening import SMALL_CONTENT_BYTES


def made(**settings: Any) -> tuple[Gateway, Client]:
    """Make the topic t with views over it, and another topic on the same vnode."""
    gateway = Gateway(kawal_vnodes=1, **settings)
    client = gateway.client()
    create(client, "t", 1)
    make_view(client, "with", "STABLE t WITH META")
    make_view(client, "only", "ONLY META AS STABLE t")
    make_view(client, "some", "WITH META AS STABLE t WHERE tbname = 'k'")
    create(client, "other", 1)
    return gateway, client


def test_changes_of_the_topic_stand_among_its_records() -> None:
    gateway, client = made()
    send(client, "t", batch(b"1", key=b"k"))
    send(client, "other", batch(b"x"))
    alter(client, "t", "kawal.columns", "v int")
    send(client, "t", batch(b"2", key=b"j"))
    alter(client, "other", "retention.ms", "5")
    grow(client, "t", 2)
    send(client, "t", batch(b"3", b"4", key=b"k"))
    for _ in range(2):
        assert [told(record) for record in read_all(client, "with")] == [
            b"1",
            ("alter", "t"),
            b"2",
            ("grow", "t"),
            b"3",
            b"4",
        ]
        assert [told(record) for record in read_all(client, "only")] == [("alter", "t"), ("grow", "t")]
        assert [told(record) for record in read_all(client, "some")] == [
            b"1",
            ("alter", "t"),
            ("grow", "t"),
            b"3",
            b"4",
        ]
        gateway.restart()
        client = gateway.client()


def test_records_tell_their_own_offset_and_times_are_found() -> None:
    _, client = made()
    for number in range(3):
        send(client, "t", batch(b"%d" % number, key=b"k", timestamp_ms=START_MS + number))
        send(client, "other", batch(b"x", timestamp_ms=START_MS + 9))
    found = read_all(client, "some")
    assert [origin(record) for record in found] == [(b"t", b"0", b"%d" % number) for number in range(3)]
    assert offset_of(client, "some", START_MS + 1).offset == found[1].offset
    assert offset_of(client, "some", -3).offset == found[2].offset
    assert offset_of(client, "some", START_MS + 5).offset == -1


def test_who_waits_is_woken_by_what_is_shown_only() -> None:
    gateway, client = made()
    end = fetch(client, "some").high_watermark
    reader = gateway.client()
    reader.send(fetching({("some", 0): end}, max_wait_ms=10_000), 12)
    send(client, "other", batch(b"x"))
    send(client, "t", batch(b"no", key=b"j"))
    gateway.settle()
    assert reader.answers() == []
    send(client, "t", batch(b"yes", key=b"k"))
    gateway.settle()
    (answer,) = reader.answers()
    assert [record.value for record in records_of(bytes(fetched(answer)["some", 0].records))] == [b"yes"]


def test_deleted_records_are_not_shown() -> None:
    _, client = made()
    send(client, "t", batch(b"1", key=b"k"))
    send(client, "t", batch(b"2", b"3", key=b"k"))
    assert len(read_all(client, "some")) == 3
    asked = DeleteRecordsPartition(partition_index=0, offset=1)
    topic = DeleteRecordsTopic(name="t", partitions=[asked])
    client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
    assert [told(record) for record in read_all(client, "some")] == [b"2", b"3", ("delete", "t")]


def test_deleted_records_of_a_batch_that_has_others_are_not_shown() -> None:
    _, client = made()
    send(client, "t", batch(b"1", b"2", b"3", key=b"k"))
    for before, left in ((2, [b"3"]), (3, [])):
        asked = DeleteRecordsPartition(partition_index=0, offset=before)
        topic = DeleteRecordsTopic(name="t", partitions=[asked])
        client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1), 2)
        for name in ("with", "some"):
            assert [shown for shown in map(told, read_all(client, name)) if shown != ("delete", "t")] == left


@pytest.mark.parametrize("view", ["with", "only", "some"])
def test_each_partition_of_the_topic_is_one_of_the_view(view: str) -> None:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    create(client, "t", 3)
    texts = {
        "with": "STABLE t WITH META",
        "only": "STABLE t ONLY META",
        "some": "STABLE t WHERE 1 = 1 WITH META",
    }
    make_view(client, view, texts[view])
    for partition in range(3):
        send(client, "t", batch(b"%d" % partition), partition)
    alter(client, "t", "retention.ms", "9")
    for partition in range(3):
        shown = [told(record) for record in read_all(client, view, partition)]
        expected: list[Any] = [b"%d" % partition, ("alter", "t")]
        assert shown == (expected[1:] if view == "only" else expected)
    delete(gateway, view)
    gateway.settle()
    assert gateway.broker.views.budget.used_bytes == 0
    assert gateway.broker.catalogue.meta_views["default"] == 0


def test_the_views_of_other_databases_tell_their_changes_only() -> None:
    gateway, client = made()
    from tests.broker.databases import create_database

    create_database(client, "d", vnodes="1")
    create(client, "u", 1, **{PLACE: "d"})
    make_view(client, "far", "STABLE u WITH META")
    alter(client, "t", "retention.ms", "9")
    alter(client, "u", "retention.ms", "8")
    assert [told(record) for record in read_all(client, "far")][-1] == ("alter", "u")
    assert [told(record) for record in read_all(client, "only")] == [("alter", "t")]
    assert gateway.broker.catalogue.meta_views == {"default": 3, "d": 1}


def test_a_lookup_by_time_opens_large_batches_on_the_spot() -> None:
    _, client = made()
    large = batch(bytes(2 * SMALL_CONTENT_BYTES), key=b"k", codec=Codec.GZIP)
    send(client, "t", large)
    found = offset_of(client, "some", START_MS)
    assert (found.error_code, found.timestamp) == (0, START_MS)
