"""Requests about transactions: one denied partition keeps all others of the request out."""

from __future__ import annotations

from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from tests.broker.guarded import ALICE, TOPIC, TRANSACTION, Guarded, rule
from tests.broker.kit import create
from tests.broker.txn import TV1, Producer


def opened() -> Guarded:
    guarded = Guarded()
    create(guarded.admin, "a")
    create(guarded.admin, "b")
    for name in ("x", "y"):
        guarded.put(rule(Operation.ALL, TRANSACTION, "*", principal="User:ANONYMOUS"))
        guarded.put(rule(Operation.ALL, TOPIC, "*", principal="User:ANONYMOUS"))
        producer = Producer(guarded, name, protocol=TV1)
        assert producer.add(("a", 0), ("b", 0)) == [0, 0]
    return guarded


def test_the_others_are_not_attempted() -> None:
    guarded = opened()
    guarded.allow(Operation.WRITE, TRANSACTION, "x")
    guarded.allow(Operation.WRITE, TOPIC, "a")
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=0,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name="a", partitions=[0, 9]),
            AddPartitionsToTxnTopic(name="b", partitions=[0]),
        ],
    )
    answer = guarded.of(ALICE).call(request, 3)
    found = {
        (topic.name, result.partition_index): result.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for result in topic.results_by_partition
    }
    assert found == {
        ("a", 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("a", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("b", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }


def test_transactions_and_their_topics_are_shown_that_may_be_seen() -> None:
    guarded = opened()
    guarded.allow(Operation.DESCRIBE, TRANSACTION, "x")
    guarded.allow(Operation.DESCRIBE, TOPIC, "a")
    alice = guarded.of(ALICE)
    listed = alice.call(
        ListTransactionsRequest(state_filters=[], producer_id_filters=[], duration_filter=-1), 1
    )
    assert [state.transactional_id for state in listed.transaction_states] == ["x"]
    mine, other = alice.call(DescribeTransactionsRequest(transactional_ids=["x", "y"]), 0).transaction_states
    assert [topic.topic for topic in mine.topics] == ["a"]
    assert (other.transactional_id, other.error_code) == (
        "y",
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )


def test_write_on_any_topic_is_enough_for_a_producer_id() -> None:
    guarded = opened()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    alice = guarded.of(ALICE)
    assert alice.call(request, 4).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    guarded.allow(Operation.WRITE, TOPIC, "a")
    assert alice.call(request, 4).error_code == 0
