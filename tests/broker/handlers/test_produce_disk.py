"""Produce on a disk that fails or fills up: the answers, and the records that can be read afterwards."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from broker.loop.stats import Cause
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, offset_of, outcomes, producing, read, send
from wal.memory_faults import failing

SETTINGS = {"kawal_vnodes": 1}


@pytest.fixture
def client(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"before"))
    return client


def code_of(answer: Any) -> int:
    (outcome,) = outcomes(answer)
    assert outcome.base_offset == -1 or not outcome.error_code
    return int(outcome.error_code)


def test_a_failed_sync_answers_everybody_who_waits(gateway: Gateway, client: Client) -> None:
    clients = [gateway.client() for _ in range(3)]
    for number, sender in enumerate(clients):
        sender.send(producing(("t", 0, batch(b"%d" % number)), acks=1 if number else -1), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.run_jobs()
    assert [code_of(sender.answers()[0]) for sender in clients] == [ErrorCode.KAFKA_STORAGE_ERROR] * 3


def test_what_arrives_while_the_sync_fails_is_answered_too(gateway: Gateway, client: Client) -> None:
    client.send(producing(("t", 0, batch(b"in the frame"))), 9)
    jobs = list(gateway.broker.take_jobs(gateway.now_ms))
    client.send(producing(("t", 0, batch(b"in the next one"))), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.finish(jobs)
    assert [code_of(answer) for answer in client.answers()] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


def test_nothing_that_failed_can_be_read_and_its_offsets_are_given_out_again(
    gateway: Gateway, client: Client
) -> None:
    client.send(producing(("t", 0, batch(b"lost"))), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.run_jobs()
    client.answers()
    assert read(client, "t") == [b"before"]
    assert offset_of(client, "t", -1).offset == 1
    assert send(client, "t", batch(b"after")).base_offset == 1
    gateway.crash()
    assert read(gateway.client(), "t") == [b"before", b"after"]


def test_between_failure_and_verification_everything_is_refused(gateway: Gateway, client: Client) -> None:
    client.send(producing(("t", 0, batch(b"lost"))), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.run_jobs()
    client.answers()
    client.send(producing(("t", 0, batch(b"too early"))), 9)
    assert code_of(client.answers()[0]) == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.settle()
    assert send(client, "t", batch(b"in time")).error_code == 0


def test_the_vnode_that_failed_takes_no_other_with_it() -> None:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    create(client, "t", partitions=2)
    vnodes = [gateway.partition("t", index).vnode.index for index in range(2)]
    gateway.disk.faults.append(failing("sync", errno.EIO, path=f"vnode-{vnodes[0]}"))
    answer = client.call(producing(("t", 0, batch(b"a")), ("t", 1, batch(b"b"))), 9)
    first, second = outcomes(answer)
    assert (first.error_code, first.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert (second.error_code, second.base_offset) == (0, 0)
    assert read(client, "t", partition=1) == [b"b"]


def test_a_full_disk_refuses_produce_and_serves_everything_else() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_segment_bytes=1 << 20, kawal_min_free_bytes=1 << 20)
    client = gateway.client()
    create(client, "t", retention_bytes="0", internal_segment_bytes="200")
    send(client, "t", batch(b"kept"))
    gateway.disk.capacity_bytes = gateway.disk.used_bytes() + 600_000
    gateway.advance(2_000)
    send(client, "t", batch(b"whose sync shows how little is left"))
    gateway.advance(2_000)
    outcome = send(client, "t", batch(b"refused"))
    assert outcome.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "space" in outcome.error_message
    assert read(client, "t")[0] == b"kept"
    create(client, "another")
    gateway.disk.capacity_bytes = None
    gateway.advance(2_000)
    assert send(client, "t", batch(b"taken")).error_code == 0


def test_an_idempotent_producers_first_batch_refused_keeps_the_others_out(
    gateway: Gateway, client: Client
) -> None:
    client.send(producing(("t", 0, batch(b"0", producer=(5, 0, 0)))), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.run_jobs()
    assert code_of(client.answers()[0]) == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.settle()
    behind = send(client, "t", batch(b"1", producer=(5, 0, 1)))
    assert behind.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(client, "t", batch(b"0", producer=(5, 0, 0))).base_offset == 1
    assert send(client, "t", batch(b"1", producer=(5, 0, 1))).base_offset == 2


def test_a_read_that_fails_is_a_storage_error_of_its_partition(gateway: Gateway) -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_tail_cache_bytes=0)
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a"))
    gateway.disk.faults.append(failing("read", errno.EIO, path="vnode-0", times=9))
    assert fetch(client, "t").error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.disk.faults.clear()
    gateway.settle()
    gateway.restart()
    assert read(gateway.client(), "t") == [b"a"]


def test_a_sync_that_fails_ends_the_connection_of_who_sent_with_acks_0(
    gateway: Gateway, client: Client
) -> None:
    client.send_unanswered(producing(("t", 0, batch(b"a")), acks=0), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.settle()
    assert client.connection.close_cause is Cause.ACKS_NONE
    assert read(gateway.client(), "t") == [b"before"]


@pytest.mark.parametrize("kind", ["write", "sync"])
def test_with_durability_os_a_failed_flush_stops_the_log_until_it_is_verified(kind: str) -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_durability="os", kawal_flush_ms=50)
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a"))
    gateway.disk.faults.append(failing(kind, errno.EIO, path="vnode-0"))
    client.send(producing(("t", 0, batch(b"b"))), 9)
    gateway.advance(60)
    gateway.advance(2_000)
    codes = [code_of(answer) for answer in client.answers()]
    assert codes == ([ErrorCode.KAFKA_STORAGE_ERROR] if kind == "write" else [0])
    assert send(client, "t", batch(b"c")).error_code == 0
    assert read(client, "t") == ([b"a", b"c"] if kind == "write" else [b"a", b"b", b"c"])
