"""Asking a transaction's coordinator on another node before something is stored for it."""

from __future__ import annotations

import pytest

from broker.catalogue.peers import NoPeers
from broker.coordinators.remote_transactions import RemoteTransactions
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV2 as SECOND
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.cluster import REPEATED, UNANSWERED, UNSENT, Cluster
from tests.broker.cluster_txn import (
    OFFSETS,
    TRANSACTIONS,
    ClusterProducer,
    index_on,
    is_stable,
    name_on,
    read_committed,
    revive,
    txn_cluster,
)
from tests.broker.groups import committed as offsets_of
from tests.broker.txn import TV1, TV2


def away(cluster: Cluster, protocol: int = TV2) -> tuple[ClusterProducer, int]:
    """Return a producer whose coordinator is node 0, and a partition that node 1 leads."""
    name = name_on(cluster, TRANSACTIONS, 0)
    return ClusterProducer(cluster, name, protocol=protocol), index_on(cluster, 1)


def test_a_batch_whose_partition_was_not_added_is_refused_before_the_second_protocol() -> None:
    cluster = txn_cluster(2)
    producer, index = away(cluster, TV1)
    assert producer.write("t", index, b"a", version=9) == ErrorCode.INVALID_TXN_STATE
    assert producer.write("t", index, b"a", version=11) == ErrorCode.TRANSACTION_ABORTABLE
    assert producer.add(("t", index)) == [0]
    assert producer.write("t", index, b"a", version=11) == 0
    assert producer.commit() == 0
    assert read_committed(cluster, "t", index) == [b"a"]


def test_offsets_whose_group_was_not_added_are_refused_before_the_second_protocol() -> None:
    cluster = txn_cluster(2)
    producer, _ = away(cluster, TV1)
    group = name_on(cluster, OFFSETS, 1)
    assert producer.commit_offset(1, group_id=group, version=4) == ErrorCode.TRANSACTION_ABORTABLE
    assert producer.commit_offset(1, group_id=group, version=3) == ErrorCode.INVALID_TXN_STATE
    assert producer.add_group(group) == 0
    assert producer.commit_offset(1, group_id=group, version=4) == 0
    assert producer.commit() == 0
    assert offsets_of(cluster[1].client(), group) == {("t", 0): 1}


@pytest.mark.parametrize("protocol", [TV1, TV2])
def test_a_fenced_producer_is_refused_by_the_other_node(protocol: int) -> None:
    cluster = txn_cluster(2)
    producer, index = away(cluster, protocol)
    ClusterProducer(cluster, producer.name)
    assert producer.write("t", index, b"a", version=producer.produce_version) == (
        ErrorCode.INVALID_PRODUCER_EPOCH
    )
    assert is_stable(cluster, "t", index)


@pytest.mark.parametrize("protocol", [TV1, TV2])
@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED])
def test_a_question_without_an_answer_lets_the_client_try_again(mishap: str, protocol: int) -> None:
    cluster = txn_cluster(2)
    producer, index = away(cluster, protocol)
    if protocol == TV1:
        assert producer.add(("t", index)) == [0]
    cluster.mishaps.append(mishap)
    version = producer.produce_version
    assert producer.write("t", index, b"a", version=version) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert producer.write("t", index, b"a", version=version) == 0
    group = name_on(cluster, OFFSETS, 1)
    if protocol == TV1:
        assert producer.add_group(group) == 0
    cluster.mishaps.append(mishap)
    version = 5 if protocol == TV2 else 4
    code = producer.commit_offset(1, group_id=group, version=version)
    assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert producer.commit_offset(1, group_id=group, version=version) == 0
    assert producer.commit() == 0
    assert read_committed(cluster, "t", index) == [b"a"]
    assert offsets_of(cluster[1].client(), group) == {("t", 0): 1}


def test_a_repeated_question_changes_nothing() -> None:
    cluster = txn_cluster(2)
    producer, index = away(cluster)
    cluster.mishaps.append(REPEATED)
    assert producer.write("t", index, b"a") == 0
    assert producer.commit() == 0
    assert read_committed(cluster, "t", index) == [b"a"]


def test_a_coordinator_that_is_down_is_asked_again_when_it_is_back() -> None:
    cluster = txn_cluster(2)
    producer, index = away(cluster)
    cluster.kill(0)
    assert producer.write("t", index, b"a") == ErrorCode.NOT_ENOUGH_REPLICAS
    revive(cluster, 0)
    assert producer.write("t", index, b"a") == 0
    assert producer.commit() == 0
    assert read_committed(cluster, "t", index) == [b"a"]


def test_an_abort_between_the_question_and_its_answer_refuses_the_batch() -> None:
    """The marker comes before the answer: without its guard the batch would begin what never ends."""
    cluster = txn_cluster(2)
    producer, index = away(cluster, TV1)
    assert producer.add(("t", index)) == [0]
    leading, old = cluster[1], producer
    client = leading.client()
    client.send(old.producing(("t", index), value=b"a"), 9)
    leading.settle()
    (question,) = cluster.sent
    cluster.sent.clear()
    answers: list[object] = []
    node_id, request, version, done = question
    cluster.sent.append((node_id, request, version, answers.append))
    cluster.settle()
    assert len(answers) == 1
    assert old.abort() == 0
    cluster.settle()
    done(answers[0])
    cluster.settle()
    (answer,) = client.answers()
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TXN_STATE
    assert is_stable(cluster, "t", index)
    assert len(leading.broker.coordinators.guards) == 0


def test_a_partition_that_the_coordinator_does_not_know_yet_is_asked_for_again() -> None:
    """It could get no marker: its records would never become stable."""
    cluster = txn_cluster(2)
    producer, index = away(cluster)
    client = cluster[0].client()
    client.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 3)
    request = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=producer.name,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                topics=[
                    AddPartitionsToTxnTopic(name="t", partitions=[index]),
                    AddPartitionsToTxnTopic(name=OFFSETS, partitions=[0]),
                ],
            )
        ]
    )
    (result,) = cluster.ask(0, request, 5).results_by_transaction
    codes = {
        topic.name: partition.partition_error_code
        for topic in result.topic_results
        for partition in topic.results_by_partition
    }
    assert codes == {
        "t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        OFFSETS: ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
    taken: list[ErrorCode] = []
    asking = RemoteTransactions(cluster[1].link, 0)
    member = Member(producer.name, producer.producer_id, producer.epoch)
    asking.enlist(member, [("t", index)], taken.append, client_version=SECOND)
    cluster.settle()
    assert taken == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


def test_a_coordinator_that_is_not_decided_yet_is_not_available() -> None:
    taken: list[ErrorCode] = []
    asking = RemoteTransactions(NoPeers(), None)
    asking.enlist(Member("tx", 1, 0), [("t", 0)], taken.append, client_version=SECOND)
    assert taken == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


@pytest.mark.parametrize("version", [4, 5])
def test_clients_are_not_served_the_versions_of_nodes(version: int) -> None:
    cluster = txn_cluster(2)
    client = cluster[0].client()
    client.send(AddPartitionsToTxnRequest(transactions=[]), version)
    cluster.settle()
    assert client.connection.close_reason is not None
    assert cluster.ask(0, AddPartitionsToTxnRequest(transactions=[]), version).results_by_transaction == []
