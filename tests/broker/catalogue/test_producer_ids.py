"""Producer ids are unique for ever: a block of them is durable before any of them is given out."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue.producer_ids import BLOCK_SIZE
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from wal.memory_faults import failing

Told = list[int | ErrorCode]


def take(gateway: Gateway, told: Told, count: int = 1) -> None:
    for _ in range(count):
        gateway.broker.producer_ids.take(told.append, gateway.now_ms)


def test_a_block_serves_many_without_the_disk() -> None:
    gateway = Gateway()
    told: Told = []
    take(gateway, told)
    assert told == []
    gateway.settle()
    take(gateway, told, BLOCK_SIZE - 1)
    assert told == list(range(BLOCK_SIZE))
    take(gateway, told)
    assert len(told) == BLOCK_SIZE
    gateway.settle()
    assert told[-1] == BLOCK_SIZE


def test_a_crash_loses_the_rest_of_a_block_and_gives_nothing_twice() -> None:
    gateway = Gateway()
    told: Told = []
    for _ in range(4):
        take(gateway, told)
        gateway.settle()
        gateway.crash()
    assert told == [0, BLOCK_SIZE, 2 * BLOCK_SIZE, 3 * BLOCK_SIZE]


def test_who_waits_for_a_block_that_is_lost_is_told_so_and_the_next_one_is_served() -> None:
    gateway = Gateway()
    told: Told = []
    take(gateway, told, 3)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    assert told == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
    with pytest.raises(RequestError):
        take(gateway, told)
    gateway.settle()
    take(gateway, told)
    gateway.settle()
    assert told[3:] == [0]
    gateway.crash()
    take(gateway, told)
    gateway.settle()
    assert told[4:] == [BLOCK_SIZE]


def test_a_second_block_that_is_lost_is_told_to_who_waits_for_it() -> None:
    gateway = Gateway()
    told: Told = []
    take(gateway, told, BLOCK_SIZE + 2)
    gateway.run_jobs()
    assert told == list(range(BLOCK_SIZE))
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.settle()
    assert told[BLOCK_SIZE:] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
