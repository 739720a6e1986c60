"""Displays of transactions on a cluster: those of each node, of coordinators, of leaders."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.cluster_txn import (
    TRANSACTIONS,
    ClusterProducer,
    is_stable,
    leader,
    name_on,
    txn_cluster,
)


def test_each_node_lists_the_transactions_that_it_coordinates() -> None:
    cluster = txn_cluster(2)
    names = [name_on(cluster, TRANSACTIONS, node.number) for node in cluster]
    for name in names:
        assert ClusterProducer(cluster, name).write("t", 0, b"a") == 0
    for node in cluster:
        answer = node.client().call(
            ListTransactionsRequest(state_filters=["Ongoing"], producer_id_filters=[]), 0
        )
        assert [found.transactional_id for found in answer.transaction_states] == [names[node.number]]


def test_a_coordinator_describes_a_transaction_with_partitions_of_all_nodes() -> None:
    cluster = txn_cluster(2)
    names = [name_on(cluster, TRANSACTIONS, node.number) for node in cluster]
    for name in names:
        producer = ClusterProducer(cluster, name)
        assert [producer.write("t", index, b"a") for index in range(4)] == [0] * 4
    for node in cluster:
        answer = node.client().call(DescribeTransactionsRequest(transactional_ids=names), 0)
        own, other = answer.transaction_states[node.number], answer.transaction_states[1 - node.number]
        assert (own.error_code, own.transaction_state) == (ErrorCode.NONE, "Ongoing")
        assert [(topic.topic, topic.partitions) for topic in own.topics] == [("t", [0, 1, 2, 3])]
        assert other.error_code == ErrorCode.NOT_COORDINATOR


def test_the_leader_of_a_partition_describes_its_producers_and_ends_their_transaction() -> None:
    """As `kafka-transactions abort` does, with the coordinator's epoch that the description has."""
    cluster = txn_cluster(2)
    producer = ClusterProducer(cluster, name_on(cluster, TRANSACTIONS, 0))
    for index in range(4):
        assert producer.write("t", index, b"a") == 0
        for node in cluster:
            request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[index])])
            (found,) = node.client().call(request, 0).topics[0].partitions
            marker = WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[index])],
                coordinator_epoch=-1,
            )
            if leader(cluster, "t", index) != node.number:
                assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                answer = node.client().call(WriteTxnMarkersRequest(markers=[marker]), 1)
                code = answer.markers[0].topics[0].partitions[0].error_code
                assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                continue
            (state,) = found.active_producers
            assert (state.producer_id, state.producer_epoch) == (producer.producer_id, producer.epoch)
            assert state.current_txn_start_offset == 0
            marker.coordinator_epoch = state.coordinator_epoch
            answer = node.client().call(WriteTxnMarkersRequest(markers=[marker]), 1)
            assert answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.NONE
            assert is_stable(cluster, "t", index)
