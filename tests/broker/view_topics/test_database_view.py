"""Views over a database: every topic's records in order of arrival, at the versions of the vnode."""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from broker.loop.slices import at_once, run_here
from broker.view_topics.database_view import DatabasePartition
from broker.view_topics.scanned_view import SCAN_BYTES
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.databases import create_database, drop_database
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, creation, fetch, fetched, fetching, offset_of, records_of, send
from tests.broker.transactions import end, transactional
from tests.broker.views import PLACE, database, make_view, origin, read_all
from wal.memory_faults import failing


def test_records_come_as_they_arrived_and_say_where_they_are_from() -> None:
    gateway, client = database()
    send(client, "b", batch(b"first", key=b"k", timestamp_ms=START_MS - 5))
    send(client, "a", batch(b"second", b"third"), 1)
    send(client, "b", batch(b"fourth"))
    found = read_all(client)
    assert [record.value for record in found] == [b"first", b"second", b"third", b"fourth"]
    assert [origin(record) for record in found] == [
        (b"b", b"0", b"0"),
        (b"a", b"1", b"0"),
        (b"a", b"1", b"1"),
        (b"b", b"0", b"1"),
    ]
    assert (found[0].key, found[0].timestamp_ms) == (b"k", START_MS - 5)
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets))
    gateway.restart()
    assert read_all(gateway.client()) == found


def test_the_records_own_headers_stay_before_ours() -> None:
    _, client = database()
    send(client, "b", encode_batch([Record(0, START_MS, None, b"v", (("own", b"x"), ("null", None)))]))
    (found,) = read_all(client)
    assert [name for name, _ in found.headers] == [
        "own",
        "null",
        "kawal.topic",
        "kawal.partition",
        "kawal.offset",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_every_record_is_shown_once_whatever_is_written_how(seed: int) -> None:
    chance = Random(seed)
    gateway, client = database(vnodes=2, kawal_segment_bytes=20_000, kawal_views_cache_bytes=1 << 20)
    sent: dict[tuple[str, int], list[bytes]] = {("a", 0): [], ("a", 1): [], ("b", 0): []}
    for number in range(60):
        place = chance.choice(list(sent))
        values = [b"%d-%d" % (number, copy) * chance.randrange(1, 90) for copy in range(chance.randint(1, 5))]
        send(client, place[0], batch(*values, codec=chance.choice(list(Codec))), place[1])
        sent[place] += values
        if chance.random() < 0.1:
            gateway.restart()
            client = gateway.client()
    found: dict[tuple[str, int], list[bytes]] = {place: [] for place in sent}
    for partition in range(2):
        for record in read_all(client, partition=partition):
            topic, index, offset = origin(record)
            place = topic.decode(), int(index)
            assert int(offset) == len(found[place])
            found[place].append(record.value or b"")
    assert found == sent


def test_a_topic_made_later_is_shown_and_a_deleted_one_is_not() -> None:
    gateway, client = database()
    send(client, "b", batch(b"old"))
    create(client, "new", 1, **{PLACE: "d"})
    send(client, "new", batch(b"new"))
    assert [record.value for record in read_all(client)] == [b"old", b"new"]
    gateway.broker.delete_topic(gateway.broker.find_topic("b"), gateway.now_ms)
    gateway.settle()
    assert [record.value for record in read_all(client)] == [b"new"]
    gateway.restart()
    assert [record.value for record in read_all(gateway.client())] == [b"new"]


@pytest.mark.parametrize("stop", [Gateway.restart, Gateway.crash])
def test_the_end_stays_when_the_topic_with_the_newest_records_is_deleted(
    stop: Callable[[Gateway], None],
) -> None:
    """Readers that have come to the end would find their offset out of range, and begin anew."""
    gateway, client = database()
    send(client, "a", batch(b"kept"))
    send(client, "b", batch(b"gone"))
    end = fetch(client, "all").high_watermark
    gateway.broker.delete_topic(gateway.broker.find_topic("b"), gateway.now_ms)
    gateway.settle()
    stop(gateway)
    assert fetch(gateway.client(), "all", end).error_code == ErrorCode.NONE
    send(gateway.client(), "a", batch(b"next"))
    assert [record.value for record in read_all(gateway.client(), offset=end)] == [b"next"]


def test_the_end_stays_when_the_segment_with_the_newest_records_is_deleted() -> None:
    gateway = Gateway(
        kawal_vnodes=1,
        kawal_segment_bytes=20_000,
        log_segment_delete_delay_ms=0,
        log_retention_check_interval_ms=10**9,
    )
    client = gateway.client()
    make_view(client, "all", "DATABASE default")
    for name in ("a", "b", "__consumer_offsets"):
        create(client, name)
    send(client, "a", batch(b"kept"))
    for _ in range(10):
        send(client, "b", batch(b"x" * 8_000))
    end = fetch(client, "all").high_watermark
    internal = gateway.partition("__consumer_offsets")
    for _ in range(10):
        internal.vnode.log.append(internal.stream_id, batch(b"x" * 8_000))
        gateway.settle()
    asked = DeleteRecordsPartition(partition_index=0, offset=-1)
    topic = DeleteRecordsTopic(name="b", partitions=[asked])
    client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
    gateway.advance(10_000)
    pairs = list(pairwise(internal.vnode.log.frames(0)))
    assert any(left.next_version < right.base_version for left, right in pairs), "segments were deleted"
    gateway.restart()
    assert fetch(gateway.client(), "all").high_watermark >= end
    assert fetch(gateway.client(), "all", end).error_code == ErrorCode.NONE
    assert [record.value for record in read_all(gateway.client())] == [b"kept"]


def test_nothing_the_view_does_not_show_makes_a_tail() -> None:
    """Offsets of groups are on the same vnode; they must not keep readers from the end."""
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    make_view(client, "all", "DATABASE default")
    assert fetch(client, "all").high_watermark == 0
    create(client, "t")
    create(client, "__consumer_offsets", 1, **{"cleanup.policy": "compact"})
    send(client, "t", batch(b"a"))
    for _ in range(3):
        internal = gateway.partition("__consumer_offsets")
        internal.vnode.log.append(internal.stream_id, batch(b"x", key=b"k"))
        gateway.settle()
    data = fetch(client, "all")
    assert data.high_watermark == 1
    assert [record.value for record in read_all(client)] == [b"a"]
    send(client, "t", batch(b"b"))
    gateway.restart()
    client = gateway.client()
    assert [record.value for record in read_all(client)] == [b"a", b"b"]
    assert offset_of(client, "all", -1).offset == fetch(client, "all").high_watermark


def test_a_parked_fetch_is_woken_by_any_topic_of_the_database_and_by_nothing_else() -> None:
    gateway, client = database()
    create(client, "elsewhere")
    reader = gateway.client()
    reader.send(fetching({("all", 0): fetch(client, "all").high_watermark}, max_wait_ms=10_000), 12)
    send(client, "elsewhere", batch(b"x"))
    gateway.settle()
    assert reader.answers() == []
    send(client, "a", batch(b"y"))
    gateway.settle()
    (answer,) = reader.answers()
    (record,) = records_of(bytes(fetched(answer)["all", 0].records))
    assert record.value == b"y"


def test_deleted_records_are_not_shown_even_in_the_middle_of_a_batch() -> None:
    _, client = database()
    send(client, "b", batch(b"0", b"1", b"2", timestamp_ms=START_MS))
    send(client, "b", batch(b"3"))
    asked = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="b", partitions=[asked])], timeout_ms=1_000
    )
    assert len(read_all(client)) == 4
    client.call(request, 2)
    assert [(record.value, origin(record)[2]) for record in read_all(client)] == [(b"2", b"2"), (b"3", b"3")]


def test_undecided_and_aborted_records_are_not_shown() -> None:
    gateway, client = database()
    send(client, "b", batch(b"plain"))
    transactional(gateway, b"kept", 1, topic="b")
    send(client, "a", batch(b"behind"))
    assert [record.value for record in read_all(client)] == [b"plain"]
    end(gateway, 1, commit=True, topic="b")
    assert [record.value for record in read_all(client)] == [b"plain", b"kept", b"behind"]
    transactional(gateway, b"gone", 2, topic="b")
    gateway.restart()
    client = gateway.client()
    send(client, "a", batch(b"after"))
    assert [record.value for record in read_all(client)] == [b"plain", b"kept", b"behind"]
    end(gateway, 2, commit=False, topic="b")
    assert [record.value for record in read_all(client)] == [b"plain", b"kept", b"behind", b"after"]


def test_offsets_by_time_are_versions() -> None:
    _, client = database()
    send(client, "a", batch(b"late", timestamp_ms=START_MS - 10))
    send(client, "b", batch(b"early", timestamp_ms=START_MS - 50))
    send(client, "b", batch(b"latest", timestamp_ms=START_MS - 1))
    late, _, latest = (record.offset for record in read_all(client))
    assert offset_of(client, "all", START_MS - 60).offset == late
    assert offset_of(client, "all", START_MS - 9).offset == latest
    assert offset_of(client, "all", START_MS).offset == -1
    assert offset_of(client, "all", -3).offset == latest
    assert offset_of(client, "all", -2).offset == 0
    assert offset_of(client, "all", -1).offset == latest + 1


def test_retention_moves_the_views_begin_and_readers_below_are_told() -> None:
    gateway, client = database(
        kawal_segment_bytes=20_000, log_segment_delete_delay_ms=0, log_retention_check_interval_ms=10**9
    )
    for _ in range(20):
        send(client, "b", batch(b"x" * 8_000))
    asked = DeleteRecordsPartition(partition_index=0, offset=15)
    topic = DeleteRecordsTopic(name="b", partitions=[asked])
    client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
    gateway.advance(10_000)
    begin = offset_of(client, "all", -2).offset
    assert begin > 0
    assert fetch(client, "all", 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert len(read_all(client, offset=begin)) == 5


def test_versions_of_a_deleted_segment_after_a_large_frame_are_passed() -> None:
    gateway, client = database(
        kawal_segment_bytes=500_000, log_segment_delete_delay_ms=0, log_retention_check_interval_ms=10**9
    )
    large = b"x" * (SCAN_BYTES + 100_000)
    send(client, "a", batch(large))
    for _ in range(10):
        send(client, "b", batch(b"x" * 200_000))
    send(client, "a", batch(b"last"))
    asked = DeleteRecordsPartition(partition_index=0, offset=-1)
    topic = DeleteRecordsTopic(name="b", partitions=[asked])
    client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
    gateway.advance(10_000)
    log = gateway.partition("all").vnode.log
    pairs = list(pairwise(log.frames(0)))
    before, after = next((left, right) for left, right in pairs if left.next_version < right.base_version)
    assert before.size_bytes > SCAN_BYTES
    assert next(log.frames(before.next_version)).base_version == after.base_version
    found = at_once(log.first_frame_since(lambda _: True, START_MS, before.next_version))
    assert found is not None
    assert found.base_version >= after.base_version
    assert [record.value for record in read_all(client)] == [large, b"last"]


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("DATABASE e", ErrorCode.INVALID_CONFIG, "there is no database 'e'"),
        ("DATABASE brief", ErrorCode.POLICY_VIOLATION, "retention.ms=0"),
    ],
)
def test_what_cannot_be_shown_is_refused(text: str, code: ErrorCode, part: str) -> None:
    _, client = database()
    create_database(client, "brief", WAL_RETENTION_PERIOD="0")
    request = CreateTopicsRequest(topics=[creation("v", -1, **{"kawal.sql": text})])
    (refused,) = client.call(request, 7).topics
    assert refused.error_code == code
    assert part in (refused.error_message or "")


def test_a_database_with_a_view_is_not_dropped() -> None:
    gateway, client = database()
    for name in ("a", "b"):
        gateway.broker.delete_topic(gateway.broker.find_topic(name), gateway.now_ms)
    gateway.settle()
    assert "has topics or views: 'all'" in (drop_database(client, "d").error_message or "")
    gateway.broker.delete_topic(gateway.broker.find_topic("all"), gateway.now_ms)
    gateway.settle()
    assert drop_database(client, "d").error_code == 0


def test_a_frame_that_is_not_in_memory_is_read_in_a_thread() -> None:
    gateway, client = database()
    send(client, "b", batch(b"cold"))
    waiting: list[Any] = []
    gateway.broker.scheduler.offload = lambda work, done: waiting.append((work, done))
    partition = gateway.partition("all")
    assert isinstance(partition, DatabasePartition)
    assert partition.high_watermark > 0
    for frame in partition.vnode.log.frames(0):
        frame.file.file.drop_cache()
    reader = gateway.client()
    reader.send(fetching({("all", 0): 0}), 12)
    for _ in range(5):
        gateway.broker.scheduler.run()
    assert reader.answers() == []
    ((work, done),) = waiting
    gateway.broker.scheduler.offload = run_here
    work()
    done(None)
    gateway.settle()
    (answer,) = reader.answers()
    (record,) = records_of(bytes(fetched(answer)["all", 0].records))
    assert record.value == b"cold"


def test_a_disk_that_cannot_be_read_is_a_storage_error() -> None:
    gateway, client = database()
    send(client, "b", batch(b"a"))
    partition = gateway.partition("all")
    assert partition.high_watermark > 0
    for frame in partition.vnode.log.frames(0):
        frame.file.file.drop_cache()
    gateway.disk.faults.append(failing("read", errno.EIO))

    def offload(work: Any, done: Any) -> None:
        try:
            work()
        except OSError as error:
            done(error)
        else:
            done(None)

    gateway.broker.scheduler.offload = offload
    assert fetch(client, "all").error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert [record.value for record in read_all(client)] == [b"a"]
