"""Offsets by time are looked up in the log, then in one batch."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from broker.errors import RequestError
from broker.storage.timestamps import NOTHING_FOUND, first_at_or_after, largest_timestamp
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create, send
from wal.memory_faults import failing


def gateway_with(*batches: tuple[int, ...], codec: int = Codec.NONE, **settings: Any) -> Gateway:
    gateway = Gateway(**settings)
    client = gateway.client()
    create(client, "t")
    for timestamps in batches:
        records = [Record(number, START_MS + at, None, b"v") for number, at in enumerate(timestamps)]
        assert send(client, "t", encode_batch(records, codec=codec)).error_code == 0
    return gateway


def test_an_empty_partition_has_nothing() -> None:
    partition = gateway_with().partition("t")
    assert first_at_or_after(partition, 0) == NOTHING_FOUND
    assert largest_timestamp(partition) == NOTHING_FOUND


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_times_against_a_plain_search(codec: int) -> None:
    batches = ((5, 1, 9), (2, 2), (20, 3, 15, 4), (0,), (30, 7))
    partition = gateway_with(*batches, codec=codec).partition("t")
    flat = [at for timestamps in batches for at in timestamps]
    for at in range(-1, 32):
        expected = next(
            ((START_MS + stamp, offset) for offset, stamp in enumerate(flat) if stamp >= at), NOTHING_FOUND
        )
        assert first_at_or_after(partition, START_MS + at) == expected
    assert largest_timestamp(partition) == (START_MS + 30, flat.index(30))


def test_records_below_the_log_start_do_not_count() -> None:
    gateway = gateway_with((50, 1), (10,), (60,), (20,))
    partition = gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 3)
    gateway.settle()
    assert first_at_or_after(partition, 0) == (START_MS + 60, 3)
    assert largest_timestamp(partition) == (START_MS + 60, 3)
    partition.vnode.log.set_log_start(partition.stream_id, 4)
    gateway.settle()
    assert first_at_or_after(partition, START_MS + 30) == NOTHING_FOUND
    assert largest_timestamp(partition) == (START_MS + 20, 4)


def test_a_batch_cut_by_the_log_start_shows_its_rest() -> None:
    gateway = gateway_with((50, 10, 20), (30,))
    partition = gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 1)
    gateway.settle()
    assert first_at_or_after(partition, 0) == (START_MS + 10, 1)
    assert first_at_or_after(partition, START_MS + 25) == (START_MS + 30, 3)


@pytest.mark.parametrize(
    "look", [lambda partition: first_at_or_after(partition, START_MS), largest_timestamp]
)
def test_a_disk_error_is_a_storage_error(look: object) -> None:
    gateway = gateway_with((1, 2), kawal_tail_cache_bytes=0)
    partition = gateway.partition("t")
    gateway.disk.faults.append(failing("read", errno.EIO, path="vnode", times=2))
    assert callable(look)
    with pytest.raises(RequestError) as refused:
        look(partition)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
