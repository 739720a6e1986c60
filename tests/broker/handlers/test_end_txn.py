"""EndTxn: what readers see of transactions, over both protocols, vnodes, losses and crashes."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, fetch, offset_of, read
from tests.broker.txn import TV1, TV2, Producer, committed
from tests.wal.crash import RandomFates
from wal.memory_faults import failing

PROTOCOLS = pytest.mark.parametrize("protocol", [TV1, TV2])


@pytest.fixture(params=[1, 3], ids=["one vnode", "three vnodes"])
def gateway(request: pytest.FixtureRequest) -> Gateway:
    gateway = Gateway(kawal_vnodes=request.param)
    create(gateway.client(), "t", partitions=4)
    return gateway


@PROTOCOLS
def test_a_commit_shows_the_records_of_all_partitions_and_an_abort_none(
    gateway: Gateway, protocol: int
) -> None:
    producer, reader = Producer(gateway, protocol=protocol), gateway.client()
    for index in range(4):
        assert producer.write("t", index, b"a", b"b") == 0
    assert [committed(reader, "t", index) for index in range(4)] == [[]] * 4
    assert producer.commit() == 0
    gateway.settle()
    assert [committed(reader, "t", index) for index in range(4)] == [[b"a", b"b"]] * 4
    assert producer.write("t", 0, b"c") == 0
    assert producer.abort() == 0
    assert producer.write("t", 0, b"d") == 0
    assert producer.commit() == 0
    gateway.settle()
    assert committed(reader, "t") == [b"a", b"b", b"d"]
    uncommitted = fetch(reader, "t")
    assert (uncommitted.high_watermark, uncommitted.last_stable_offset) == (7, 7)


@PROTOCOLS
def test_the_latest_offset_for_committed_readers_is_the_first_of_an_open_transaction(
    gateway: Gateway, protocol: int
) -> None:
    producer, client = Producer(gateway, protocol=protocol), gateway.client()
    producer.write("t", 0, b"a")
    producer.commit()
    producer.write("t", 0, b"b")
    gateway.settle()
    data = fetch(client, "t")
    assert (data.last_stable_offset, data.high_watermark) == (2, 3)
    assert committed(client, "t") == [b"a"]
    assert committed(client, "t", offset=2) == []


def test_an_aborted_transaction_is_told_to_readers_of_its_range_only(gateway: Gateway) -> None:
    first, second, reader = Producer(gateway, "x"), Producer(gateway, "y"), gateway.client()
    first.write("t", 0, b"a1")
    second.write("t", 0, b"b1")
    first.write("t", 0, b"a2")
    second.abort()
    first.commit()
    gateway.settle()
    assert committed(reader, "t") == [b"a1", b"a2"]
    assert committed(reader, "t", offset=4) == []


@PROTOCOLS
def test_everything_is_there_after_a_restart(gateway: Gateway, protocol: int) -> None:
    producer = Producer(gateway, protocol=protocol)
    producer.write("t", 0, b"a")
    producer.commit()
    producer.write("t", 0, b"x")
    producer.abort()
    producer.write("t", 1, b"b")
    gateway.restart()
    gateway.settle()
    gateway.advance(1)
    reader = gateway.client()
    assert committed(reader, "t") == [b"a"]
    assert committed(reader, "t", 1) == []
    producer.client = gateway.client()
    assert producer.commit() == 0
    gateway.settle()
    assert committed(reader, "t", 1) == [b"b"]


def test_a_whole_transaction_on_one_vnode_ends_with_one_commit_of_its_log() -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    for index in range(4):
        producer.write("t", index, b"a")
    producer.commit_offset(5)
    producer.client.send(producer.ending(commit=True), 5)
    jobs = [job for _, job in gateway.broker.take_jobs(gateway.now_ms) if hasattr(job, "built")]
    assert len(jobs) == 1
    gateway.finish([(gateway.partition("t").vnode, jobs[0])])
    (answer,) = producer.client.answers()
    assert answer.error_code == 0
    assert committed(gateway.client(), "t", 3) == [b"a"]
    producer._begin(answer.producer_id, answer.producer_epoch)
    assert producer.write("t", 0, b"next") == 0, "the transaction is complete"


@PROTOCOLS
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    gateway: Gateway, protocol: int
) -> None:
    producer = Producer(gateway, protocol=protocol, timeout_ms=5_000)
    producer.write("t", 0, b"a")
    gateway.advance(5_000)
    gateway.settle()
    reader = gateway.client()
    assert fetch(reader, "t").last_stable_offset == 2
    assert committed(reader, "t") == []
    fenced = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED}
    assert producer.write("t", 0, b"b") in fenced
    # The epoch was raised once, so an EndTxn v5 looks like a repetition of the server's own abort.
    expected = ErrorCode.PRODUCER_FENCED if protocol == TV1 else ErrorCode.INVALID_TXN_STATE
    assert producer.commit() == expected
    assert Producer(gateway).epoch == 2


@PROTOCOLS
def test_a_new_instance_aborts_what_the_one_before_has_left_open(gateway: Gateway, protocol: int) -> None:
    old = Producer(gateway, protocol=protocol)
    old.write("t", 0, b"a")
    new = Producer(gateway, protocol=protocol)
    assert (new.producer_id, new.epoch) == (old.producer_id, 2)
    assert old.write("t", 0, b"b") in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
    assert old.commit() == ErrorCode.PRODUCER_FENCED
    assert new.write("t", 0, b"c") == 0
    assert new.commit() == 0
    gateway.settle()
    assert committed(gateway.client(), "t") == [b"c"]


def test_a_timestamp_at_or_after_the_last_stable_offset_is_not_found_by_committed_readers() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    producer, client = Producer(gateway), gateway.client()
    producer.write("t", 0, b"a")
    gateway.settle()
    assert offset_of(client, "t", 0).offset == 0
    request_committed = offset_of_committed(client, "t", 0)
    assert (request_committed.offset, request_committed.timestamp) == (-1, -1)
    assert offset_of_committed(client, "t", -1).offset == 0
    producer.commit()
    gateway.settle()
    assert offset_of_committed(client, "t", 0).offset == 0
    assert offset_of_committed(client, "t", -1).offset == 2


def offset_of_committed(client: Client, name: str, timestamp: int) -> Any:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=1, topics=[ListOffsetsTopic(name=name, partitions=[asked])]
    )
    return client.call(request, 9).topics[0].partitions[0]


def test_versions_before_the_second_know_another_code_for_fenced_producers() -> None:
    gateway = Gateway()
    producer = Producer(gateway, protocol=TV1)
    Producer(gateway, protocol=TV1)
    request = producer.ending(commit=True)
    codes = [producer.client.call(request, version).error_code for version in range(6)]
    assert codes == [ErrorCode.INVALID_PRODUCER_EPOCH] * 2 + [ErrorCode.PRODUCER_FENCED] * 4


def test_a_failed_sync_takes_the_end_back_and_the_next_attempt_succeeds(gateway: Gateway) -> None:
    producer = Producer(gateway)
    producer.write("t", 0, b"a")
    producer.client.send(producer.ending(commit=True), 5)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    gateway.advance(10_000)
    gateway.settle()
    (answer,) = producer.client.answers()
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert committed(gateway.client(), "t") == []
    assert producer.commit() == 0
    gateway.advance(2_000)
    gateway.settle()
    assert committed(gateway.client(), "t") == [b"a"]


@PROTOCOLS
@pytest.mark.parametrize("steps", range(9))
@pytest.mark.parametrize("seed", range(3))
def test_a_crash_at_any_moment_leaves_transactions_whole(
    gateway: Gateway, protocol: int, steps: int, seed: int
) -> None:
    """The power fails after so many pieces of disk work; each transaction writes to all partitions."""
    producer = Producer(gateway, protocol=protocol)
    acknowledged, number, left = set(), 0, steps * 3
    while left > 0:
        commit = number % 3 != 2
        value = b"%s%d" % (b"c" if commit else b"a", number)
        for index in range(4):
            if protocol == TV1:
                producer.client.send(producer.adding(("t", index)), 3)
                left -= gateway.run_jobs() or 1
            producer.client.send(producer.producing(("t", index), value=value), producer.produce_version)
            left -= gateway.run_jobs() or 1
        gateway.settle()
        if left <= 0:
            break
        producer.client.send(producer.ending(commit=commit), 5 if protocol == TV2 else 4)
        answers: list[Any] = []
        while left > 0 and not answers:
            left -= gateway.run_jobs() or 1
            answers = [answer for answer in producer.client.answers() if hasattr(answer, "producer_epoch")]
        if answers and answers[0].error_code == 0:
            if commit:
                acknowledged.add(value)
            producer._begin(producer.producer_id, max(producer.epoch, answers[0].producer_epoch))
        number += 1
    gateway.disk = gateway.disk.crash(RandomFates(seed))
    gateway.open_again()
    gateway.settle()
    gateway.advance(70_000)
    gateway.settle()
    reader = gateway.client()
    seen = [committed(reader, "t", index) for index in range(4)]
    assert seen[0] == seen[1] == seen[2] == seen[3], "a transaction is in some partitions only"
    assert acknowledged <= set(seen[0]), "an acknowledged commit is lost"
    assert not any(value.startswith(b"a") for value in seen[0]), "an aborted record is shown"
    for index in range(4):
        data = fetch(reader, "t", partition=index)
        assert data.last_stable_offset == data.high_watermark, "a transaction hangs"


def test_a_marker_of_an_administrator_ends_a_transaction_that_hangs(gateway: Gateway) -> None:
    producer, client = Producer(gateway), gateway.client()
    producer.write("t", 0, b"a")
    request = WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
                coordinator_epoch=0,
            )
        ]
    )
    assert client.call(request, 1).markers[0].topics[0].partitions[0].error_code == 0
    assert committed(client, "t") == []
    assert fetch(client, "t").last_stable_offset == 2
    assert len(read(client, "t")) == 2
