"""TxnOffsetCommit: the progress of groups is part of transactions."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import commit, join
from tests.broker.kit import create
from tests.broker.txn import TV1, TV2, Producer

PROTOCOLS = pytest.mark.parametrize("protocol", [TV1, TV2])
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


@pytest.fixture(params=[1, 3], ids=["one vnode", "three vnodes"])
def gateway(request: pytest.FixtureRequest) -> Gateway:
    gateway = Gateway(kawal_vnodes=request.param, group_initial_rebalance_delay_ms=0)
    create(gateway.client(), "t", partitions=2)
    return gateway


def progress(client: Client, *, stable: bool = False, group_id: str = "g") -> tuple[int, int]:
    """Return the error and the offset of a group in the first partition."""
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=stable)
    found = client.call(request, 9).groups[0].topics[0].partitions[0]
    return found.error_code, found.committed_offset


@PROTOCOLS
def test_offsets_count_with_the_commit_and_never_after_an_abort(gateway: Gateway, protocol: int) -> None:
    producer, client = Producer(gateway, protocol=protocol), gateway.client()
    assert producer.commit_offset(7) == 0
    assert progress(client) == (0, -1)
    assert progress(client, stable=True) == (UNSTABLE, -1)
    assert producer.commit() == 0
    gateway.settle()
    assert progress(client) == progress(client, stable=True) == (0, 7)
    assert producer.commit_offset(9) == 0
    assert producer.abort() == 0
    gateway.settle()
    assert progress(client, stable=True) == (0, 7)


@PROTOCOLS
@pytest.mark.parametrize("crashes", [False, True])
def test_staged_offsets_outlive_a_restart_and_a_crash(gateway: Gateway, protocol: int, crashes: bool) -> None:
    producer = Producer(gateway, protocol=protocol)
    producer.commit_offset(7)
    gateway.settle()
    gateway.crash() if crashes else gateway.restart()
    gateway.settle()
    gateway.advance(1)
    client = gateway.client()
    assert progress(client, stable=True) == (UNSTABLE, -1)
    producer.client = gateway.client()
    assert producer.commit() == 0
    gateway.settle()
    assert progress(client, stable=True) == (0, 7)
    gateway.restart()
    gateway.settle()
    assert progress(gateway.client(), stable=True) == (0, 7)


@pytest.mark.parametrize("version", range(5))
def test_before_v5_the_group_must_have_been_added(gateway: Gateway, version: int) -> None:
    producer = Producer(gateway, protocol=TV1)
    expected = ErrorCode.INVALID_TXN_STATE if version < 4 else ErrorCode.TRANSACTION_ABORTABLE
    assert producer.commit_offset(3, version=version or 1) == (
        ErrorCode.INVALID_TXN_STATE if not version else expected
    )
    assert producer.add_group() == 0
    assert producer.commit_offset(3, version=version or 1) == 0


def test_a_member_that_has_been_replaced_cannot_commit(gateway: Gateway) -> None:
    producer, client = Producer(gateway), gateway.client()
    member_id, generation = join(client, "g")
    fields: dict[str, Any] = {"member_id": member_id, "generation_id": generation}
    assert producer.commit_offset(1, **fields) == 0
    assert producer.commit_offset(1, **{**fields, "generation_id": generation + 1}) == (
        ErrorCode.ILLEGAL_GENERATION
    )
    assert producer.commit_offset(1, **{**fields, "member_id": "x"}) == ErrorCode.UNKNOWN_MEMBER_ID
    assert producer.commit_offset(1, **{**fields, "group_instance_id": "i"}) == ErrorCode.UNKNOWN_MEMBER_ID
    assert producer.commit_offset(1) == 0, "a producer need not name a member"


def test_a_generation_of_a_group_that_does_not_exist_is_illegal(gateway: Gateway) -> None:
    producer = Producer(gateway)
    assert producer.commit_offset(1, group_id="none", generation_id=1) == ErrorCode.ILLEGAL_GENERATION


def test_fields_that_are_wrong_are_refused_one_by_one(gateway: Gateway) -> None:
    producer = Producer(gateway)
    assert producer.commit_offset(1, topic="missing") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.commit_offset(1, index=2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    producer.epoch = 3
    assert producer.commit_offset(1) == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.producer_id += 1
    assert producer.commit_offset(1) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    producer.name = "unknown"
    assert producer.commit_offset(1) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_offset_committed_later_outside_of_the_transaction_stays(gateway: Gateway) -> None:
    producer, client = Producer(gateway), gateway.client()
    producer.commit_offset(7)
    commit(client, "g", ("t", 0, 9))
    producer.commit()
    gateway.settle()
    assert progress(client, stable=True) == (0, 9)


def test_the_offset_staged_last_counts_whatever_the_order_of_the_ends(gateway: Gateway) -> None:
    first, second, client = Producer(gateway, "a"), Producer(gateway, "b"), gateway.client()
    first.commit_offset(1)
    second.commit_offset(2)
    second.commit()
    first.commit()
    gateway.settle()
    assert progress(client, stable=True) == (0, 2)
    gateway.restart()
    gateway.settle()
    assert progress(gateway.client(), stable=True) == (0, 2)


def test_the_log_of_offsets_can_be_copied_while_transactions_are_open(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    from broker.coordinators import copier

    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", 2_000)
    producer, client = Producer(gateway), gateway.client()
    producer.commit_offset(70)
    for offset in range(60):
        commit(client, "g", ("t", 1, offset))
    gateway.advance(30_000)
    gateway.settle()
    index = gateway.broker.groups._machine.partition_of("g")
    partition = gateway.partition("__consumer_offsets", index)
    assert partition.log_start > 0, "the log was not copied"
    gateway.crash()
    gateway.settle()
    producer.client = gateway.client()
    assert progress(gateway.client(), stable=True) == (UNSTABLE, -1)
    assert producer.commit() == 0
    gateway.settle()
    assert progress(gateway.client(), stable=True) == (0, 70)


def large(producer: Producer, count: int) -> TxnOffsetCommitRequest:
    """Return a request for many partitions, one of which does not exist."""
    progress = [
        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=7, committed_metadata=None)
        for index in range(count + 1)
    ]
    return TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id="g",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[TxnOffsetCommitRequestTopic(name="wide", partitions=progress)],
    )


@PROTOCOLS
def test_many_offsets_are_stored_in_slices_and_count_as_a_whole(gateway: Gateway, protocol: int) -> None:
    create(gateway.client(), "wide", partitions=1_000)
    producer = Producer(gateway, protocol=protocol)
    if protocol == TV1:
        producer.add_group()
    answer = producer.client.call(large(producer, 1_000), 5 if protocol == TV2 else 4)
    codes = [found.error_code for found in answer.topics[0].partitions]
    assert codes == [0] * 1_000 + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert len(gateway.broker.coordinators.guards) == 0
    groups = gateway.broker.groups._machine
    assert groups.committed("g", "wide", 999) is None
    assert producer.commit() == 0
    gateway.settle()
    assert all(groups.committed("g", "wide", index) for index in range(1_000))


def test_many_offsets_of_a_producer_that_was_fenced_are_all_refused(gateway: Gateway) -> None:
    create(gateway.client(), "wide", partitions=300)
    producer = Producer(gateway)
    Producer(gateway)
    answer = producer.client.call(large(producer, 300), 5)
    codes = {found.error_code for found in answer.topics[0].partitions[:-1]}
    assert codes == {ErrorCode.INVALID_PRODUCER_EPOCH}
    assert len(gateway.broker.coordinators.guards) == 0


def test_offsets_follow_the_coordinators_record_in_the_same_log_without_a_sync_between() -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "wide", partitions=2)
    producer = Producer(gateway)
    assert producer.client.call(large(producer, 1), 5).topics[0].partitions[0].error_code == 0
    assert producer.commit() == 0
    gateway.settle()
    producer.client.send(large(producer, 1), 5)
    jobs = [job for _, job in gateway.broker.take_jobs(gateway.now_ms) if hasattr(job, "built")]
    assert len(jobs) == 1
    gateway.finish([(gateway.partition("wide").vnode, jobs[0])])
    (answer,) = producer.client.answers()
    assert answer.topics[0].partitions[0].error_code == 0
