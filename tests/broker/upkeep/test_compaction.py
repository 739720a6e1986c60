"""Compaction as clients see it: the last record of each key stays in place, the rest goes incrementally."""

from __future__ import annotations

import errno
import struct

import pytest
from zstandard import ZstdCompressor

from broker.snapshot import Snapshot
from broker.upkeep.compaction import FAILED_REST_MS, TOPICS_PER_LOOK
from protocol.compression import Codec
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.records import HEADER_BYTES, renew_crc
from tests.broker.compacted import BACKOFF_MS, batches, fill, keyed, made, pairs_of, pass_time, put
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, offset_of, send
from wal.memory_faults import failing


def test_the_last_record_of_each_key_stays_with_its_offset(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(30):
        put(client, "t", [(b"k%d" % (number % 3), b"%d" % number)])
    fill(client, "t")

    pass_time(gateway)

    assert pairs_of(client, "t") == [(27, b"k0", b"27"), (28, b"k1", b"28"), (29, b"k2", b"29")]
    assert offset_of(client, "t", -1).offset == 32
    assert offset_of(client, "t", -2).offset == 0
    assert gateway.broker.compaction.stats.passes == 1
    assert gateway.broker.compaction.stats.records_removed == 27


def test_what_is_written_after_a_pass_is_compacted_by_the_next(gateway: Gateway, client: Client) -> None:
    made(client)
    for part in range(3):
        for number in range(20):
            put(client, "t", [(b"k%d" % (number % 5), b"%d-%d" % (part, number))])
        fill(client, "t")
        pass_time(gateway)

    assert [value for _, _, value in pairs_of(client, "t")] == [b"2-%d" % number for number in range(15, 20)]


def test_the_active_segment_is_never_touched(gateway: Gateway, client: Client) -> None:
    made(client, internal_segment_bytes="100000")
    for number in range(50):
        put(client, "t", [(b"k", b"%d" % number)])
    pass_time(gateway, 10 * BACKOFF_MS)
    assert len(pairs_of(client, "t")) == 50


def test_a_restart_and_a_crash_keep_what_compaction_did(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(30):
        put(client, "t", [(b"k%d" % (number % 3), b"%d" % number)])
    fill(client, "t")
    pass_time(gateway)
    expected = pairs_of(client, "t")

    gateway.restart()
    assert pairs_of(gateway.client(), "t") == expected
    gateway.crash()
    assert pairs_of(gateway.client(), "t") == expected


def test_tombstones_live_for_delete_retention_ms_and_go(gateway: Gateway, client: Client) -> None:
    made(client, delete_retention_ms="100000")
    put(client, "t", [(b"a", b"1"), (b"b", b"2")])
    put(client, "t", [(b"a", None)])
    fill(client, "t")
    pass_time(gateway)
    assert pairs_of(client, "t") == [(1, b"b", b"2"), (2, b"a", None)]
    pass_time(gateway, 90_000 - BACKOFF_MS)
    assert pairs_of(client, "t") == [(1, b"b", b"2"), (2, b"a", None)]

    pass_time(gateway, 20_000 + 2 * BACKOFF_MS)

    assert pairs_of(client, "t") == [(1, b"b", b"2")]


def test_a_low_dirty_ratio_waits(gateway: Gateway, client: Client) -> None:
    made(client, min_cleanable_dirty_ratio="0.9")
    for number in range(60):
        put(client, "t", [(b"k%d" % number, b"x" * 100)])
    fill(client, "t")
    pass_time(gateway)
    assert gateway.broker.compaction.stats.passes == 1, "all of it was dirty"
    put(client, "t", [(b"k0", b"new")])
    fill(client, "t")
    pass_time(gateway)
    assert gateway.broker.compaction.stats.passes == 1
    assert [pair for pair in pairs_of(client, "t") if pair[1] == b"k0"] == [
        (0, b"k0", b"x" * 100),
        (62, b"k0", b"new"),
    ]


def test_young_records_wait_for_min_compaction_lag(gateway: Gateway, client: Client) -> None:
    made(client, min_compaction_lag_ms="60000")
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    pass_time(gateway)
    assert len(pairs_of(client, "t")) == 10
    pass_time(gateway, 60_000 + BACKOFF_MS)
    assert pairs_of(client, "t") == [(9, b"k", b"9")]


def test_old_records_are_compacted_whatever_the_ratio(gateway: Gateway, client: Client) -> None:
    made(client, min_cleanable_dirty_ratio="1", max_compaction_lag_ms="60000", segment_ms="1000000000")
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    put(client, "t", [(b"k", b"later")], timestamp_ms=START_MS + 61_000)
    pass_time(gateway, 45_000)
    assert len(pairs_of(client, "t")) == 11
    pass_time(gateway, 16_000 + BACKOFF_MS)
    assert pairs_of(client, "t") == [(10, b"k", b"later")] or pairs_of(client, "t") == [
        (9, b"k", b"9"),
        (10, b"k", b"later"),
    ]
    assert gateway.broker.compaction.stats.passes == 1


def test_compact_and_delete_does_both(gateway: Gateway, client: Client) -> None:
    made(client, cleanup_policy="compact,delete", retention_ms="400000")
    for number in range(12):
        put(client, "t", [(b"k%d" % (number % 4), b"%d" % number)], timestamp_ms=START_MS)
    fill(client, "t")
    pass_time(gateway)
    assert [offset for offset, _, _ in pairs_of(client, "t")] == [8, 9, 10, 11]
    put(client, "t", [(b"young", b"x" * 900)], timestamp_ms=START_MS + 500_000)
    pass_time(gateway, 800_000)
    client = gateway.client()
    assert offset_of(client, "t", -2).offset == 14
    assert pairs_of_from(client, 14) == [(14, b"young", b"x" * 900)]


def test_retention_sees_the_age_of_each_segment_that_compaction_left(
    gateway: Gateway, client: Client
) -> None:
    made(client, cleanup_policy="compact,delete", retention_ms="400000")
    put(client, "t", [(b"old", b"x" * 850)], timestamp_ms=START_MS - 300_000)
    for number in range(4):
        put(client, "t", [(b"k", b"x" * 800 + b"%d" % number)], timestamp_ms=START_MS)
    fill(client, "t")
    pass_time(gateway, 350_000)
    assert offset_of(client, "t", -2).offset == 4
    assert [offset for offset, _, _ in pairs_of_from(client, 4)] == [4]


def test_the_policy_can_be_changed_while_it_runs(gateway: Gateway, client: Client) -> None:
    made(client, cleanup_policy="delete")
    put(client, "t", [(None, b"no key")])
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    pass_time(gateway)
    assert len(pairs_of(client, "t")) == 11

    topic = gateway.broker.find_topic("t")
    gateway.broker.topics.change_configs(
        topic, {**topic.configs, "cleanup.policy": "compact"}, gateway.now_ms
    )
    gateway.settle()
    assert send(client, "t", keyed([(None, b"x")])).error_code == 87
    pass_time(gateway)

    assert pairs_of(client, "t") == [(10, b"k", b"9")]


def test_a_lookup_by_time_finds_what_is_left(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(10):
        put(client, "t", [(b"k%d" % (number % 2), b"%d" % number)], timestamp_ms=START_MS + 100 * number)
    fill(client, "t", START_MS + 2_000)
    pass_time(gateway)

    assert [offset_of(client, "t", START_MS + at).offset for at in (0, 150, 800, 801, 900)] == [8, 8, 8, 9, 9]


def test_records_deleted_by_a_client_stay_deleted(gateway: Gateway, client: Client) -> None:
    made(client, cleanup_policy="compact,delete")
    for number in range(10):
        put(client, "t", [(b"k%d" % number, b"%d" % number)])
    fill(client, "t")
    pass_time(gateway)
    asked = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=5)])
    client.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1_000), 2)
    put(client, "t", [(b"k7", b"new")])
    fill(client, "t")
    pass_time(gateway)

    found = [(offset, key) for offset, key, _ in pairs_of_from(client, 5)]
    assert found == [(5, b"k5"), (6, b"k6"), (8, b"k8"), (9, b"k9"), (12, b"k7")]


def pairs_of_from(client: Client, offset: int) -> list[tuple[int, bytes, bytes | None]]:
    return [
        (record.offset, record.key or b"", record.value)
        for _, found in batches(client, "t", offset)
        for record in found
        if record.key != b"filler"
    ]


def test_a_full_disk_puts_compaction_off(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    gateway.disk.capacity_bytes = gateway.disk.used_bytes() + 1_000
    gateway.partition("t").vnode.log._state.full = True
    pass_time(gateway)
    assert len(pairs_of(client, "t")) == 10
    gateway.disk.capacity_bytes = None

    pass_time(gateway, 2 * BACKOFF_MS)

    assert gateway.broker.compaction.stats.failures == 0
    assert pairs_of(client, "t") == [(9, b"k", b"9")]


def test_a_failed_sync_ends_the_pass_and_loses_nothing(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    gateway.disk.faults.append(failing("sync", errno.EIO))
    pass_time(gateway)
    gateway.disk.faults.clear()
    pass_time(gateway, FAILED_REST_MS + 2 * BACKOFF_MS)
    assert pairs_of(client, "t") == [(9, b"k", b"9")]


def test_a_batch_that_cannot_be_read_leaves_its_partition_alone(gateway: Gateway, client: Client) -> None:
    made(client, cleanup_policy="delete")
    send(client, "t", keyed([(b"k", b"1")]))
    broken = keyed([(b"k", b"2"), (b"k", b"3")])
    broken[61] ^= 1  # the length of the first record
    renew_crc(broken)
    assert send(client, "t", broken).error_code == 0
    fill(client, "t")
    topic = gateway.broker.find_topic("t")
    gateway.broker.topics.change_configs(
        topic, {**topic.configs, "cleanup.policy": "compact"}, gateway.now_ms
    )
    pass_time(gateway, FAILED_REST_MS + 4 * BACKOFF_MS)

    assert gateway.broker.compaction.stats.uncleanable == 1
    assert gateway.broker.compaction.stats.failures == 1
    assert offset_of(client, "t", -1).offset == 5


def test_settings_of_the_server_hold_for_topics_without_their_own() -> None:
    gateway = Gateway(log_cleaner_min_cleanable_ratio=0.0, log_cleaner_delete_retention_ms=0)
    client = gateway.client()
    create(client, "t", 1, cleanup_policy="compact", internal_segment_bytes="1000")
    put(client, "t", [(b"k", b"1")])
    put(client, "t", [(b"k", None)])
    fill(client, "t")
    pass_time(gateway, 3 * BACKOFF_MS)
    assert pairs_of(client, "t") == []


def test_nothing_is_compacted_when_that_is_switched_off() -> None:
    gateway = Gateway(log_cleaner_enable=False)
    client = gateway.client()
    made(client)
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    pass_time(gateway, 5 * BACKOFF_MS)
    assert len(pairs_of(client, "t")) == 10


def test_a_snapshot_tells_what_compaction_did(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    pass_time(gateway)
    snapshot = Snapshot.take(gateway.broker)
    counters = {name: value for name, value in snapshot.counters.items() if name.startswith("compaction_")}
    assert counters.pop("compaction_read_bytes") > counters.pop("compaction_written_bytes") > 0
    assert counters == {
        "compaction_passes": 1,
        "compaction_failures": 0,
        "compaction_removed_records": 9,
    }
    assert snapshot.gauges["uncompacted_partitions"] == 0


def test_more_keys_than_fit_are_compacted_pass_by_pass() -> None:
    gateway = Gateway(log_cleaner_dedupe_buffer_size=0)
    client = gateway.client()
    made(client, internal_segment_bytes="20000")
    for part in range(6):
        numbers = range(part * 400, part * 400 + 800)
        put(client, "t", [(b"k%d" % (number % 1_500), b"%d" % part) for number in numbers])
    for _ in range(2):
        put(client, "t", [(b"filler", b"x" * 19_000)])
    pass_time(gateway, 3 * BACKOFF_MS)

    assert gateway.broker.compaction.stats.passes > 1
    found = pairs_of(client, "t")
    assert len(found) == len({key for _, key, _ in found}) == 1_500


def test_no_backoff_at_all_still_leaves_room_for_others() -> None:
    gateway = Gateway(log_cleaner_backoff_ms=0)
    client = gateway.client()
    made(client)
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    pass_time(gateway, 1_000)
    assert pairs_of(client, "t") == [(9, b"k", b"9")]


def test_idle_partitions_are_not_looked_into_again(gateway: Gateway, client: Client) -> None:
    create(client, "idle", 300, cleanup_policy="compact")
    pass_time(gateway)
    task = gateway.broker.compaction
    assert len(task._quiet) == 300
    assert not any(task._may_be_due(gateway.partition("idle", index), gateway.now_ms) for index in range(300))
    create(client, "gone", 5, cleanup_policy="compact")
    pass_time(gateway)
    assert len(task._quiet) == 305
    client.call(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1_000), 5)
    pass_time(gateway)
    assert len(task._quiet) == 300
    put(client, "idle", [(b"k", b"v")])
    assert task._may_be_due(gateway.partition("idle"), gateway.now_ms)


def test_a_record_that_ends_within_its_own_fields_leaves_its_partition_alone(
    gateway: Gateway, client: Client
) -> None:
    """Such a batch once ended the process, at every start again."""
    made(client, cleanup_policy="delete")
    whole = keyed([(b"k", b"1")], codec=Codec.ZSTD)
    cut = whole[:HEADER_BYTES] + ZstdCompressor().compress(bytes.fromhex("06000000"))
    struct.pack_into(">i", cut, 8, len(cut) - 12)
    renew_crc(cut)
    assert send(client, "t", cut).error_code == 0
    fill(client, "t")
    topic = gateway.broker.find_topic("t")
    gateway.broker.topics.change_configs(
        topic, {**topic.configs, "cleanup.policy": "compact"}, gateway.now_ms
    )
    pass_time(gateway, FAILED_REST_MS + 4 * BACKOFF_MS)
    stats = gateway.broker.compaction.stats
    assert (stats.uncleanable, stats.failures) == (1, 1)
    assert send(client, "t", keyed([(b"k", b"2")])).error_code == 0


def test_a_look_over_very_many_topics_is_made_in_slices(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.upkeep.compaction.PARTITIONS_PER_SLICE", 2)
    for number in range(60):
        create(client, f"plain-{number}")
    gateway.broker.compaction._look(gateway.now_ms)
    steps = 0
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        steps += 1
    assert steps >= 60 // (2 * TOPICS_PER_LOOK)
