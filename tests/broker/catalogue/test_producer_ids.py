"""Producer ids are unique for ever: a block of them is durable before any of them is given out."""

from __future__ import annotations

import errno
from random import Random

import pytest

from broker.catalogue.producer_ids import BLOCK_SIZE
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from tests.broker.cluster import Cluster
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


def take_on(cluster: Cluster, number: int, told: Told, count: int = 1) -> None:
    for _ in range(count):
        cluster[number].broker.producer_ids.take(told.append, cluster[number].now_ms)


def test_each_node_gives_ids_of_its_own_blocks() -> None:
    cluster = Cluster(2)
    told: list[Told] = [[], []]
    for count in (1, BLOCK_SIZE - 1, 5, BLOCK_SIZE):
        for number in range(2):
            take_on(cluster, number, told[number], count)
        cluster.settle()
    assert not set(told[0]) & set(told[1])
    for ids in told:
        assert len(set(ids)) == len(ids) == 2 * BLOCK_SIZE + 5
        assert not any(isinstance(identity, ErrorCode) for identity in ids)


def lose_answers(cluster: Cluster) -> None:
    for waiting in cluster.waiting.values():
        for _, done in waiting:
            done(None)
        waiting.clear()


def test_nodes_that_die_and_answers_that_are_lost_give_no_id_twice() -> None:
    chance = Random(7)
    cluster = Cluster(3)
    told: Told = []
    for _ in range(40):
        for number in {0, 1, 2} - cluster.down:
            take_on(cluster, number, told, chance.choice((1, 3, BLOCK_SIZE)))
        match chance.randrange(4):
            case 0:
                # Asked, and recorded, but the answers never arrive.
                cluster._deliver()
                cluster[0].settle()
                lose_answers(cluster)
            case 1:
                number = chance.randrange(1, 3)
                cluster._deliver()
                cluster.kill(number)
                cluster.settle()
                cluster.revive(number)
            case 2:
                cluster._deliver()
                cluster[0].crash()
                lose_answers(cluster)
        cluster.settle()
    ids = [identity for identity in told if not isinstance(identity, ErrorCode)]
    assert len(ids) > 10 * BLOCK_SIZE
    assert len(set(ids)) == len(ids)
    assert set(told) - set(ids) <= {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


def test_without_the_controller_producers_are_told_to_ask_again() -> None:
    cluster = Cluster(2)
    told: Told = []
    cluster.kill(0)
    take_on(cluster, 1, told, 2)
    cluster.settle()
    assert told == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    cluster.revive(0)
    take_on(cluster, 1, told)
    cluster.settle()
    (given,) = told[2:]
    assert not isinstance(given, ErrorCode)
