"""The internal topic stays small: partitions are copied forward, and nothing is lost at any moment."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from broker.coordinators import copier
from broker.coordinators.records import append_records
from groups import copies
from groups.apart import Apart
from groups.record_keys import ClassicGroupKey
from groups.records import encode_record
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, commit, committed, given
from tests.broker.kit import create
from wal.memory_faults import failing

PARTITIONS = 5
LIMIT_BYTES = 2_000


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a broker that copies partitions of some kilobytes, two offsets at a time."""
    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", LIMIT_BYTES)
    monkeypatch.setattr(copier, "COPY_RECORDS_PER_SLICE", 2)
    gateway = Gateway(kawal_vnodes=1, kawal_rebalance_interval_ms=0, offsets_topic_num_partitions=1)
    client = gateway.client()
    create(client, "t", partitions=PARTITIONS)
    fill(client)
    return gateway


def fill(client: Client, *, base: int = 0) -> None:
    """Commit to many partitions many times over, so that most records are superseded."""
    for offset in range(40):
        commit(client, "g", ("t", offset % PARTITIONS, base + offset))


EXPECTED = {("t", index): 35 + index for index in range(PARTITIONS)}


def size_bytes(gateway: Gateway) -> int:
    partition = gateway.partition("__consumer_offsets")
    return partition.vnode.log.stream_size_bytes(partition.stream_id)


def log_start(gateway: Gateway) -> int:
    return gateway.partition("__consumer_offsets").log_start


def test_a_large_partition_is_copied_and_its_past_released(gateway: Gateway) -> None:
    assert size_bytes(gateway) > LIMIT_BYTES
    gateway.advance(11_000)
    assert log_start(gateway) == 40
    assert size_bytes(gateway) < LIMIT_BYTES
    assert committed(gateway.client(), "g") == EXPECTED
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == EXPECTED


def test_a_partition_is_copied_again_only_when_it_has_grown(gateway: Gateway) -> None:
    gateway.advance(11_000)
    gateway.advance(30_000)
    assert log_start(gateway) == 40
    fill(gateway.client(), base=100)
    gateway.advance(11_000)
    assert log_start(gateway) > 80
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {key: 100 + offset for key, offset in EXPECTED.items()}


def test_commits_during_the_copy_are_kept(gateway: Gateway) -> None:
    client = gateway.client()
    gateway.now_ms += 10_000
    for number in range(12):
        gateway.tick()
        commit(client, "g", ("t", 0, 100 + number))
        gateway.now_ms += 1
    gateway.advance(1_000)
    assert log_start(gateway) == 40
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {**EXPECTED, ("t", 0): 111}


@pytest.mark.parametrize("nth", range(1, 6))
def test_a_sync_that_fails_during_the_copy_loses_nothing(gateway: Gateway, nth: int) -> None:
    gateway.disk.faults.append(failing("sync", errno.EIO, path="default/vnode-0", nth=nth))
    gateway.advance(10_500)
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == EXPECTED
    gateway.advance(25_000)
    assert size_bytes(gateway) < LIMIT_BYTES
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == EXPECTED


@pytest.mark.parametrize("steps", range(0, 14, 2))
def test_a_crash_at_any_moment_of_the_copy_loses_nothing(gateway: Gateway, steps: int) -> None:
    gateway.now_ms += 10_000
    for _ in range(steps):
        gateway.tick()
        gateway.run_jobs()
        gateway.now_ms += 1
    gateway.tick()
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == EXPECTED


@pytest.mark.parametrize("wide", [1, 1_000])
def test_groups_of_the_consumer_protocol_are_copied_whole(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    """Their wide records are encoded in a thread."""
    monkeypatch.setattr(copies, "WIDE_TOPICS", wide)
    client = gateway.client()
    in_threads: list[str] = []
    offload = gateway.broker.scheduler.offload

    def noted(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        in_threads.append(getattr(work, "__qualname__", ""))
        offload(work, done)

    gateway.broker.scheduler.offload = noted
    held = given(client.call(beating("c", "a", topics=["t"]), 1))
    assert held is not None
    request = ConsumerGroupDescribeRequest(group_ids=["c"], include_authorized_operations=False)
    before = client.call(request, 1)
    gateway.advance(10_050)
    assert log_start(gateway) > 40
    assert ("Apart.encode" in in_threads) == (wide == 1)
    gateway.crash()
    gateway.advance(10)
    assert gateway.client().call(request, 1) == before


def test_a_wide_record_that_cannot_be_encoded_ends_the_copy_alone(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "WIDE_TOPICS", 1)
    given(gateway.client().call(beating("c", "a", topics=["t"]), 1))
    gateway.break_things()

    def broken(_apart: Apart) -> None:
        raise MemoryError("no room for the record")

    monkeypatch.setattr(Apart, "encode", broken)
    gateway.advance(10_050)
    assert log_start(gateway) == 0
    monkeypatch.undo()
    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", LIMIT_BYTES)
    gateway.advance(10_050)
    assert log_start(gateway) > 40


def test_a_partition_with_a_record_that_cannot_be_read_is_never_copied(gateway: Gateway) -> None:
    """A copy of what was replayed before such a record stood for everything, and the rest was lost."""
    key, _ = encode_record(ClassicGroupKey("h"), None)
    append_records(gateway.partition("__consumer_offsets"), [(key, b"\x00\x03junk")], gateway.now_ms)
    gateway.restart()
    gateway.advance(60_000)
    assert log_start(gateway) == 0
    assert committed(gateway.client(), "g") == EXPECTED


def test_a_partition_is_not_copied_while_it_is_loaded(gateway: Gateway) -> None:
    gateway.crash()
    gateway.disk.faults.append(failing("read", errno.EIO, path="default/vnode-0", times=6 * 30))
    gateway.advance(25_000)
    assert log_start(gateway) == 0
    gateway.disk.faults.clear()
    gateway.restart()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == EXPECTED


def test_a_copy_ends_when_its_partition_is_unloaded(gateway: Gateway) -> None:
    gateway.now_ms += 10_000
    gateway.tick()
    gateway.run_jobs()
    with gateway.broker.groups.step(gateway.now_ms) as coordinator:
        coordinator.unload([0], gateway.now_ms)
    gateway.advance(1_000)
    assert log_start(gateway) == 0
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == EXPECTED
