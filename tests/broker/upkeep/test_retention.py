"""Retention deletes whole logical segments, by age and by size, on its own clock."""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterator

import pytest

from broker.loop.internal_errors import ErrorPlace
from broker.loop.slices import Until
from broker.storage.partition import Partition
from broker.upkeep.retention import PARTITIONS_PER_SLICE, RetentionTask
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, offset_of, read, send
from tests.broker.shares import Member, acquired, configure
from wal.lookup import StreamExtent
from wal.memory_faults import failing
from wal.reading import LogReading

INTERVAL_MS = 10_000
SETTINGS = {"log_retention_check_interval_ms": INTERVAL_MS}


def start_of(client: Client, name: str, partition: int = 0) -> int:
    return int(offset_of(client, name, -2, partition).offset)


def pass_time(gateway: Gateway, duration_ms: int) -> None:
    gateway.advance(duration_ms)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)


def test_records_older_than_allowed_go_even_the_last_ones(gateway: Gateway, client: Client) -> None:
    create(client, "t", retention_ms="60000", segment_ms="1000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    send(client, "t", batch(b"b", timestamp_ms=START_MS + 50_000))
    pass_time(gateway, 60_000)
    assert start_of(client, "t") == 0
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 1
    assert read(client, "t", 1) == [b"b"]
    pass_time(gateway, 60_000)
    assert (start_of(client, "t"), offset_of(client, "t", -1).offset) == (2, 2)
    assert send(client, "t", batch(b"c", timestamp_ms=gateway.now_ms)).base_offset == 2


def test_age_is_that_of_the_newest_record_of_a_logical_segment(gateway: Gateway, client: Client) -> None:
    create(client, "t", retention_ms="20000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    send(client, "t", batch(b"b", timestamp_ms=START_MS + 30_000))
    pass_time(gateway, 40_000)
    assert start_of(client, "t") == 0
    pass_time(gateway, 20_000)
    assert start_of(client, "t") == 2


def test_a_share_fetch_has_room_as_soon_as_records_under_way_were_deleted(
    gateway: Gateway, client: Client
) -> None:
    place = create(client, "t", retention_ms="20000", segment_ms="1000"), 0
    configure(
        gateway,
        share_auto_offset_reset="earliest",
        share_record_lock_duration_ms="60000",
        kawal_share_partition_max_in_flight_bytes="1",
    )
    member = Member(gateway, "m1", "t")
    send(client, "t", batch(b"old", timestamp_ms=START_MS))
    assert acquired(member.fetch(place)) == [(0, 0, 1)]
    send(client, "t", batch(b"new", timestamp_ms=START_MS + 50_000))
    member.send_fetch(max_wait_ms=1_000_000)
    pass_time(gateway, 20_000)
    assert member.client.answers() == []
    pass_time(gateway, INTERVAL_MS)
    assert [acquired(answer) for answer in member.client.answers()] == [[(1, 1, 1)]]


def test_old_segments_go_by_size_and_the_last_one_stays(gateway: Gateway, client: Client) -> None:
    size = len(batch(bytes(1_000)))
    create(client, "t", retention_bytes=str(3 * size), internal_segment_bytes=str(2 * size))
    for _ in range(10):
        send(client, "t", batch(bytes(1_000)))
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 6
    for name, retention_bytes in (("one", "1"), ("none", "0")):
        create(client, name, retention_bytes=retention_bytes)
        send(client, name, batch(bytes(1_000)))
    pass_time(gateway, INTERVAL_MS)
    assert (start_of(client, "one"), start_of(client, "none")) == (0, 1)


@pytest.mark.parametrize(
    "configs",
    [
        {"retention_ms": "-1"},
        {"retention_ms": "1", "cleanup_policy": "compact"},
        {"retention_ms": "1", "cleanup_policy": ""},
    ],
)
def test_topics_that_keep_everything_keep_it(
    gateway: Gateway, client: Client, configs: dict[str, str]
) -> None:
    create(client, "t", 1, **configs)
    send(client, "t", batch(b"a", key=b"k", timestamp_ms=START_MS))
    pass_time(gateway, 1_000_000)
    assert start_of(gateway.client(), "t") == 0


def test_the_servers_default_holds_where_a_topic_has_none() -> None:
    gateway = Gateway(log_retention_check_interval_ms=INTERVAL_MS, log_retention_ms=30_000)
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    pass_time(gateway, 50_000)
    assert start_of(client, "t") == 1


def test_what_was_deleted_stays_deleted_after_a_crash(gateway: Gateway, client: Client) -> None:
    create(client, "t", retention_bytes="1", internal_segment_bytes="100")
    for _ in range(5):
        send(client, "t", batch(b"a"))
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 4
    gateway.crash()
    client = gateway.client()
    assert (start_of(client, "t"), read(client, "t", 4)) == (4, [b"a"])


def test_the_disk_gets_its_room_back() -> None:
    gateway = Gateway(
        kawal_vnodes=1,
        kawal_segment_bytes=100_000,
        log_retention_check_interval_ms=INTERVAL_MS,
        log_segment_delete_delay_ms=1_000,
    )
    client = gateway.client()
    create(client, "t", retention_bytes="50000", internal_segment_bytes="20000")
    for number in range(60):
        send(client, "t", batch(bytes(10_000)))
        if number % 10 == 9:
            pass_time(gateway, 2 * INTERVAL_MS)
    pass_time(gateway, 4 * INTERVAL_MS)
    files = [
        path for path in gateway.disk.files() if "vnode-0" in path and path.endswith((".wal", ".deleted"))
    ]
    assert len(files) <= 3
    assert read(client, "t", start_of(client, "t"))


def test_many_partitions_are_looked_at_in_slices(gateway: Gateway, client: Client) -> None:
    names = [f"t{number}" for number in range(PARTITIONS_PER_SLICE + 50)]
    for name in names[:3] + names[-3:]:
        create(client, name, retention_bytes="1", internal_segment_bytes="100")
    for name in names[3:-3]:
        create(client, name)
    for name in names:
        for _ in range(2):
            send(client, name, batch(b"a"))
    pass_time(gateway, INTERVAL_MS + 10)
    assert [start_of(client, name) for name in names[:3] + names[-3:]] == [1] * 6


def test_a_topic_deleted_and_made_again_between_two_slices_is_not_taken_for_the_old_one(
    gateway: Gateway, client: Client
) -> None:
    for number in range(PARTITIONS_PER_SLICE):
        create(client, f"t{number}")
        send(client, f"t{number}", batch(b"a"))
    create(client, "z", retention_bytes="1", internal_segment_bytes="100")
    for _ in range(3):
        send(client, "z", batch(b"old"))
    gateway.now_ms = START_MS + INTERVAL_MS
    gateway.tick()
    client.call(DeleteTopicsRequest(topic_names=["z"], timeout_ms=1_000), 5)
    create(client, "z", retention_bytes="1", internal_segment_bytes="100")
    send(client, "z", batch(b"new"))
    gateway.advance(100)
    assert read(client, "z") == [b"new"]
    gateway.restart()
    assert read(gateway.client(), "z") == [b"new"]


@pytest.mark.parametrize("kind", ["read", "open"])
def test_a_disk_error_puts_retention_off(kind: str) -> None:
    gateway = Gateway(
        log_retention_check_interval_ms=INTERVAL_MS, kawal_tail_cache_bytes=0, kawal_segment_bytes=5_000
    )
    client = gateway.client()
    create(client, "t", retention_bytes="1", internal_segment_bytes="1000")
    for _ in range(20):
        send(client, "t", batch(bytes(900)))
    gateway.restart()
    gateway.disk.faults.append(failing(kind, errno.EIO, path="vnode", times=3))
    pass_time(gateway, 3 * INTERVAL_MS)
    client = gateway.client()
    assert start_of(client, "t") > 10


def test_an_internal_error_about_one_partition_leaves_the_others_to_retention(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("broken", "t"):
        create(client, name, retention_ms="5000")
        send(client, name, batch(b"a", timestamp_ms=START_MS))
    look = RetentionTask._look

    def break_one(self: RetentionTask, partition: Partition) -> Generator[Until | None, None, bool]:
        if partition.topic.name == "broken":
            raise IndexError("a bug")
        return look(self, partition)

    monkeypatch.setattr(RetentionTask, "_look", break_one)
    gateway.break_things()
    pass_time(gateway, INTERVAL_MS)
    assert (start_of(client, "broken"), start_of(client, "t")) == (0, 1)
    assert gateway.broker.internal_errors.counts[ErrorPlace.BACKGROUND] == 1


def test_a_check_that_an_internal_error_ends_is_made_again(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, "t", retention_ms="5000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    gateway.break_things()
    with monkeypatch.context() as broken:
        broken.setattr(RetentionTask, "_look_safely", lambda _self, _stream_id: 1 // 0)
        pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 0
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 1


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[StreamExtent]:
    """Return a list that fills with the extents that are looked at."""
    seen: list[StreamExtent] = []
    extents = LogReading.extents

    def counted(
        self: LogReading, stream_id: int, from_offset: int = 0, *, may_wait: bool = True
    ) -> Iterator[StreamExtent]:
        for extent in extents(self, stream_id, from_offset, may_wait=may_wait):
            seen.append(extent)
            yield extent

    monkeypatch.setattr(LogReading, "extents", counted)
    return seen


def test_a_check_looks_only_at_what_was_written_or_is_due(gateway: Gateway, client: Client) -> None:
    for number in range(30):
        create(client, f"t{number}", retention_ms="60000")
        send(client, f"t{number}", batch(b"a", timestamp_ms=START_MS))
    pass_time(gateway, INTERVAL_MS)
    retention = gateway.broker.retention
    looked_at = retention.looked_at
    assert looked_at >= 30
    pass_time(gateway, INTERVAL_MS)
    assert retention.looked_at == looked_at
    send(client, "t7", batch(b"b", timestamp_ms=gateway.now_ms))
    pass_time(gateway, INTERVAL_MS)
    assert retention.looked_at == looked_at + 1
    pass_time(gateway, 5 * INTERVAL_MS)
    assert retention.looked_at > looked_at + 30
    starts = [start_of(client, f"t{number}") for number in range(30)]
    assert starts == [0 if number == 7 else 1 for number in range(30)]


@pytest.mark.parametrize("limits", [("100000", "-1"), ("-1", "5000")])
def test_extents_that_must_stay_are_walked_over_once(
    gateway: Gateway, client: Client, walked: list[StreamExtent], limits: tuple[str, str]
) -> None:
    """Their logical segment is old in part, or too large in part, and grows on."""
    create(client, "t", retention_ms=limits[0], retention_bytes=limits[1])
    extents = 0
    for _ in range(30):
        for _ in range(5):
            send(client, "t", batch(bytes(30), timestamp_ms=gateway.now_ms))
            extents += 1
        pass_time(gateway, INTERVAL_MS)
    checks = 30
    assert start_of(client, "t") == 0
    assert len(walked) <= extents + 4 * checks
    assert len(walked) >= 50


def test_extents_are_walked_over_in_slices(
    gateway: Gateway, client: Client, walked: list[StreamExtent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.upkeep.retention_walk.EXTENTS_PER_SLICE", 4)
    create(client, "t", retention_bytes="1", retention_ms="-1", internal_segment_bytes="300")
    for _ in range(40):
        send(client, "t", batch(bytes(30)))
    gateway.now_ms += INTERVAL_MS
    gateway.tick()
    steps = most = 0
    while gateway.broker.scheduler.pending:
        before = len(walked)
        gateway.broker.scheduler.run()
        most = max(most, len(walked) - before)
        steps += 1
    gateway.settle()
    assert steps > 8
    assert most <= 5
    assert start_of(client, "t") >= 37


def alter(client: Client, kind: int, name: str, key: str) -> None:
    config = AlterableConfig(name=key, config_operation=0, value="5000")
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    assert client.call(request, 1).responses[0].error_code == 0


def test_changed_settings_count_at_the_next_check(gateway: Gateway, client: Client) -> None:
    for name in ("a", "b"):
        create(client, name)
        send(client, name, batch(b"a", timestamp_ms=START_MS))
    pass_time(gateway, 2 * INTERVAL_MS)
    alter(client, 2, "a", "retention.ms")
    pass_time(gateway, INTERVAL_MS)
    assert (start_of(client, "a"), start_of(client, "b")) == (1, 0)
    alter(client, 4, "", "log.retention.ms")
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "b") == 1


def test_records_without_a_time_do_not_stop_retention_of_those_with_one(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t", retention_ms="15000", segment_ms="1000")
    send(client, "t", batch(b"a", timestamp_ms=-1))
    pass_time(gateway, INTERVAL_MS)
    send(client, "t", batch(b"b", timestamp_ms=gateway.now_ms))
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 0
    pass_time(gateway, INTERVAL_MS)
    assert start_of(client, "t") == 2


def test_the_queue_does_not_outgrow_the_streams_it_knows(gateway: Gateway, client: Client) -> None:
    for number in range(200):
        create(client, "t", retention_ms="3600000")
        send(client, "t", batch(b"a", timestamp_ms=gateway.now_ms))
        pass_time(gateway, INTERVAL_MS)
        client.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
        assert number < 199 or gateway.broker.retention._queue._entries < 100
    pass_time(gateway, INTERVAL_MS)
    assert gateway.broker.retention._queue._due == {}
