"""Topics whose old records are in the object store alone: what leaves the disk, and what clients read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker.config.config import Config
from broker.snapshot import Snapshot
from broker.upkeep.remote_copy import CopyState
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import (
    batch,
    create,
    fetch,
    fetched,
    fetching,
    offset_of,
    read,
    records_of,
    send,
    values,
)
from tests.broker.upkeep.copies import copy_of
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced
from wal.remote_record import RemoteRecord
from wal.segment import base_version_of

LATEST, EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -4, -5, -6
VALUE = bytes(20_000)
TIERED = {"remote_storage_enable": "true", "local_retention_bytes": "0"}


class Tiered:
    """A broker with a copy in a store, and the values that a client wrote."""

    def __init__(self, *, disk: MemoryDisk | None = None, vnodes: int = 1, **configs: str) -> None:
        self.gateway = Gateway(
            disk,
            kawal_vnodes=vnodes,
            kawal_segment_bytes=1 << 16,
            kawal_remote_store="s3://bucket/kawal",
            kawal_min_free_bytes=0 if disk is not None else Config().kawal_min_free_bytes,
        )
        self.objects = MemoryObjects()
        self.copy = copy_of(self.gateway, self.objects)
        self.client = self.gateway.client()
        create(self.client, "t", 1, **(configs or TIERED))
        self.written: list[bytes] = []

    def write(self, count: int = 20, name: str = "t", *, at_ms: int = START_MS) -> None:
        """Write values, and give everything its time."""
        for _ in range(count):
            value = b"%d " % len(self.written) + VALUE
            assert send(self.client, name, batch(value, timestamp_ms=at_ms)).error_code == 0
            self.written.append(value)
        self.settle()

    def settle(self) -> None:
        """Let rounds, checkpoints and removals pass."""
        for _ in range(12):
            self.gateway.advance(6_000)
        self.client = self.gateway.client()  # the one before may have been idle for too long

    @property
    def log(self) -> Any:
        return self.gateway.partition("t").vnode.log

    @property
    def left(self) -> int:
        """The number of segments that have left the disk."""
        return int(self.log.remote_usage()[0])

    def local_files(self) -> int:
        """Return the number of segments on the disk."""
        directory = self.log.storage[0].directory
        return sum(base_version_of(name) is not None for name in self.gateway.disk.list(directory))

    def read_all(self, client: Client | None = None) -> list[bytes]:
        """Read the topic from its beginning, as consumers do: again after an error that may pass."""
        found: list[bytes] = []
        offset = offset_of(self.client, "t", EARLIEST).offset
        while offset < offset_of(self.client, "t", LATEST).offset:
            answer = fetch(client or self.client, "t", offset)
            assert answer.error_code == 0
            more = values(answer.records)
            found, offset = found + more, offset + len(more)
        return found


def test_old_segments_leave_the_disk_and_a_consumer_reads_all_from_the_beginning() -> None:
    tiered = Tiered()
    tiered.write()
    assert tiered.left > 3
    assert tiered.local_files() <= 3
    assert tiered.read_all() == tiered.written


def test_after_a_restart_and_after_a_crash_all_is_read() -> None:
    tiered = Tiered()
    tiered.write()
    for again in (tiered.gateway.restart, tiered.gateway.crash):
        again()
        tiered.copy = copy_of(tiered.gateway, tiered.objects)
        tiered.client = tiered.gateway.client()
        assert tiered.left > 3
        assert tiered.read_all() == tiered.written
        tiered.write(3)
        assert tiered.read_all() == tiered.written


def test_metrics_tell_what_has_left_the_disk_and_what_was_read_back() -> None:
    tiered = Tiered()
    tiered.write()
    tiered.read_all()
    numbers = Snapshot.take(tiered.gateway.broker).remote
    assert numbers["only_segments"] == tiered.left
    assert numbers["only_bytes"] > 3 * len(VALUE)
    assert numbers["fetched_bytes"] > 0
    assert numbers["served_bytes"] > 0
    assert numbers["read_failures"] == 0


def test_without_the_setting_everything_stays() -> None:
    tiered = Tiered(retention_bytes="-1")
    tiered.write()
    assert tiered.left == 0


def test_by_default_local_records_stay_as_long_as_the_topic_keeps_them() -> None:
    tiered = Tiered(remote_storage_enable="true")
    tiered.write()
    assert tiered.left == 0


def test_records_leave_the_disk_by_their_age() -> None:
    tiered = Tiered(remote_storage_enable="true", local_retention_ms="3600000", segment_ms="1000")
    tiered.write(10)
    assert tiered.left == 0
    tiered.write(10, at_ms=START_MS - 3_600_000)
    tiered.gateway.advance(3_600_000)
    tiered.settle()
    assert tiered.left > 3
    assert tiered.read_all() == tiered.written


def test_a_neighbour_that_must_stay_keeps_the_segments_that_it_is_in() -> None:
    tiered = Tiered()
    create(tiered.client, "stays")
    send(tiered.client, "stays", batch(b"x"))
    tiered.write()
    assert read(tiered.client, "stays") == [b"x"]
    assert 0 not in tiered.log.view().remote
    assert tiered.left > 3


def test_copying_can_be_stopped_and_what_has_left_is_still_read() -> None:
    tiered = Tiered(remote_storage_enable="true", remote_log_copy_disable="true")
    tiered.write()
    assert tiered.left == 0


def test_retention_goes_on_over_segments_that_have_left() -> None:
    tiered = Tiered(
        remote_storage_enable="true", local_retention_bytes="0", retention_bytes="200000",
        internal_segment_bytes="40000",
    )  # fmt: skip
    tiered.write(40)
    tiered.gateway.advance(700_000)
    tiered.settle()
    start = offset_of(tiered.client, "t", EARLIEST).offset
    assert 25 < start < 38
    assert tiered.read_all() == tiered.written[start:]


def test_an_error_of_the_store_ends_one_fetch_and_not_the_partition() -> None:
    tiered = Tiered()
    tiered.write()
    tiered.objects.hook = lambda call: ObjectFault.AWAY if call.kind == "read_range" else None
    answer = fetch(tiered.client, "t", 0)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    local = offset_of(tiered.client, "t", EARLIEST_LOCAL, version=8).offset
    assert values(fetch(tiered.client, "t", local).records)[0] == tiered.written[local]
    tiered.write(1)
    tiered.objects.hook = None
    assert tiered.read_all() == tiered.written


def test_what_was_proved_leaves_the_disk_although_tidying_up_fails() -> None:
    tiered = Tiered()
    tiered.objects.hook = lambda call: ObjectFault.AWAY if call.kind == "remove" else None
    tiered.gateway.broker.config = replace(tiered.gateway.broker.config, kawal_remote_lag_ms=100)
    tiered.write()
    assert tiered.left > 3


def test_what_is_read_back_to_prove_it_is_within_the_rate_of_reads() -> None:
    tiered, limit, read = Tiered(), 5_000, list[tuple[int, int]]()
    config = tiered.gateway.broker.config
    tiered.gateway.broker.config = replace(config, remote_log_manager_fetch_max_bytes_per_second=limit)

    def count(call: ObjectCall) -> None:
        if call.kind == "read_range":
            read.append((tiered.gateway.now_ms, call.size_bytes))

    tiered.objects.hook = count
    tiered.write(60)
    for _ in range(3):
        tiered.settle()
    assert tiered.left > 5
    for start, _ in read:
        inside = [size for at, size in read if start <= at < start + 20_000]
        assert sum(inside) <= 20 * limit + max(inside)


def test_a_copy_that_another_process_keeps_lets_nothing_go() -> None:
    tiered = Tiered()
    tiered.write()
    tiered.log.tier([RemoteRecord(1, salt=0, key="seg/a.wal", size_bytes=1, crc=0)])
    tiered.copy._failed(Fenced("kept by another process"))
    assert tiered.log.storage[0].to_tier == []


def test_an_object_that_cannot_be_read_back_keeps_its_segment_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tiered = Tiered()
    victim = "default/vnode-0/seg/00000000000000000001-0000000001.wal"
    tiered.objects.hook = lambda call: (
        ObjectFault.AWAY if call.kind == "read_range" and call.key.endswith(victim) else None
    )
    tiered.write()
    assert tiered.left > 3
    assert not any(record.key.endswith(victim) for record in tiered.log.view().remote.values())
    counts = tiered.copy.counts
    assert (counts.state, counts.failures > 0) == (CopyState.COPYING, True)
    assert 1 <= caplog.text.count("stay on the disk until their objects can be read back") <= 3
    tiered.objects.hook = None
    tiered.write(1)
    assert any(record.key.endswith(victim) for record in tiered.log.view().remote.values())


def test_wrong_bytes_are_never_given_to_a_client() -> None:
    tiered = Tiered()
    tiered.write()
    tiered.objects.hook = lambda call: ObjectFault.DAMAGED if call.kind == "read_range" else None
    for offset in range(8):
        answer = fetch(tiered.client, "t", offset)
        given = values(answer.records) if answer.error_code == 0 else []
        assert given == tiered.written[offset : offset + len(given)]
    assert send(tiered.client, "t", batch(b"more")).error_code == 0


def test_a_slow_store_gives_an_empty_answer_and_the_next_fetch_is_served_from_memory() -> None:
    tiered = Tiered()
    tiered.write()
    waiting: list[Any] = []
    timers = tiered.gateway.broker.timers
    clock = tiered.gateway.broker.clock
    tiered.gateway.broker.store.blocks.connect(
        tiered.objects,
        limit_bytes=64 << 20,
        submit=lambda work, done: waiting.append((work, done)),
        later=lambda call: timers.add(clock.turn_ms + 500, lambda _: call()),
    )
    tiered.client.send(fetching({("t", 0): 0}), 12)
    tiered.gateway.advance(400)
    assert tiered.client.answers() == []
    tiered.gateway.advance(200)
    (answer,) = tiered.client.answers()
    (found,) = fetched(answer).values()
    assert (found.error_code, values(found.records)) == (0, [])
    ((work, done),) = waiting
    work()
    done(None)
    asked = len(tiered.objects.calls)
    assert values(fetch(tiered.client, "t", 0).records)[0] == tiered.written[0]
    assert len(tiered.objects.calls) == asked


def test_the_ends_of_the_tiers_are_told() -> None:
    tiered = Tiered()
    tiered.write()

    def told(timestamp: int) -> int:
        return int(offset_of(tiered.client, "t", timestamp, version=11).offset)

    assert told(EARLIEST) == 0
    local = told(EARLIEST_LOCAL)
    assert 10 < local < 20
    assert told(LATEST_TIERED) >= local - 1
    assert told(EARLIEST_PENDING) == told(LATEST_TIERED) + 1


def test_the_ends_of_the_tiers_are_told_after_the_indexes_were_lost() -> None:
    tiered = Tiered()
    tiered.write()
    local = offset_of(tiered.client, "t", EARLIEST_LOCAL, version=8).offset
    state, _ = tiered.log.storage
    for segment in state.segments.all:
        if segment.remote is not None:
            tiered.gateway.disk.remove(segment.index_path)
            state.index_cache.forget(segment)
            segment.index = None
    tiered.objects.hook = lambda _: ObjectFault.AWAY
    away = offset_of(tiered.client, "t", EARLIEST_LOCAL, version=8)
    assert away.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    tiered.objects.hook = None
    assert offset_of(tiered.client, "t", EARLIEST_LOCAL, version=8).offset == local
    assert tiered.read_all() == tiered.written


def test_before_anything_is_copied_all_is_pending() -> None:
    tiered = Tiered()
    send(tiered.client, "t", batch(b"x"))
    found = [
        offset_of(tiered.client, "t", timestamp, version=11).offset
        for timestamp in (LATEST_TIERED, EARLIEST_PENDING)
    ]
    assert found == [-1, 0]


def test_a_lookup_by_time_agrees_with_what_was_written_on_both_sides_of_the_border() -> None:
    tiered = Tiered()
    for number in range(20):
        tiered.write(1, at_ms=START_MS + 1_000 * number)
    assert tiered.left > 5
    for number in range(20):
        found = offset_of(tiered.client, "t", START_MS + 1_000 * number - 500)
        assert (found.error_code, found.offset) == (0, number)


def test_many_cold_partitions_of_one_request_are_fetched_beside_each_other() -> None:
    tiered = Tiered()
    create(tiered.client, "many", 10, remote_storage_enable="true", local_retention_bytes="0")
    for index in range(10):
        for _ in range(4):
            send(tiered.client, "many", batch(VALUE), partition=index)
    tiered.write()
    tiered.gateway.restart()
    tiered.copy = copy_of(tiered.gateway, tiered.objects)
    client = tiered.gateway.client()
    wanted = fetching({("many", index): 0 for index in range(10)})
    answers = [fetched(client.call(wanted, 12)) for _ in range(3)]
    assert all(found.error_code == 0 for answer in answers for found in answer.values())
    assert sum(bool(values(found.records)) for found in answers[-1].values()) == 10


def read_again(client: Client, name: str, count: int) -> list[bytes]:
    """Read a topic as consumers do, who ask again after an error that may pass."""
    found: list[bytes] = []
    offset = 0
    for _ in range(200):
        answer = fetch(client, name, offset)
        assert answer.error_code in (0, ErrorCode.KAFKA_STORAGE_ERROR)
        if answer.error_code == 0 and answer.records:
            records = list(records_of(answer.records))
            found += [record.value or b"" for record in records if record.offset >= offset]
            offset = records[-1].offset + 1
        if len(found) >= count:
            break
    return found


def test_a_view_shows_records_that_are_in_the_store_alone() -> None:
    tiered = Tiered()
    create(tiered.client, "v", -1, kawal_sql="SELECT * FROM t")
    tiered.write()
    assert tiered.left > 3
    tiered.gateway.restart()
    tiered.copy = copy_of(tiered.gateway, tiered.objects)
    client = tiered.gateway.client()
    assert read_again(client, "v", 20) == tiered.written


def test_the_settings_of_a_topic_are_checked_when_they_change() -> None:
    tiered = Tiered()
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=2,
                resource_name="t",
                configs=[AlterableConfig(name="cleanup.policy", config_operation=0, value="compact")],
            )
        ],
        validate_only=False,
    )
    (answer,) = tiered.client.call(request, 1).responses
    assert answer.error_code == ErrorCode.INVALID_CONFIG
