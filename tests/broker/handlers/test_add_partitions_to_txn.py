"""AddPartitionsToTxn: which partitions, whose transaction, and what producing needs of it."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import create, outcomes
from tests.broker.txn import TV1, TV2, Producer, committed


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway()
    create(gateway.client(), "t", partitions=2)
    return gateway


def test_if_one_partition_does_not_exist_none_is_added(gateway: Gateway) -> None:
    producer = Producer(gateway, protocol=TV1)
    missing, other = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    assert producer.add(("t", 0), ("t", 2), ("u", 0)) == [other, missing, missing]
    assert producer.write("t", 0, b"a", version=9) == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("version", range(4))
def test_a_producer_that_was_fenced_is_told_so_in_its_words(gateway: Gateway, version: int) -> None:
    producer = Producer(gateway, protocol=TV1)
    Producer(gateway, protocol=TV1)
    expected = ErrorCode.INVALID_PRODUCER_EPOCH if version < 2 else ErrorCode.PRODUCER_FENCED
    assert producer.add(("t", 0), version=version) == [expected]


def test_an_unknown_id_and_an_empty_one_are_refused(gateway: Gateway) -> None:
    producer = Producer(gateway, protocol=TV1)
    producer.name = "unknown"
    assert producer.add(("t", 0)) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    producer.name = ""
    assert producer.add(("t", 0)) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", [9, 10, 11])
def test_before_v12_producing_needs_the_partition_to_be_added(gateway: Gateway, version: int) -> None:
    producer = Producer(gateway, protocol=TV1)
    expected = ErrorCode.INVALID_TXN_STATE if version < 11 else ErrorCode.TRANSACTION_ABORTABLE
    assert producer.write("t", 0, b"a", version=version) == expected
    producer.sequences.clear()
    assert producer.add(("t", 0)) == [0]
    assert producer.write("t", 0, b"a", b"b", version=version) == 0
    assert producer.write("t", 1, b"a", version=version) == expected
    assert producer.commit() == 0
    gateway.settle()
    assert committed(gateway.client(), "t") == [b"a", b"b"]
    assert producer.write("t", 0, b"late", version=version) == expected, "the transaction is over"


def test_an_error_of_the_coordinator_is_told_in_words_that_make_producers_try_again(gateway: Gateway) -> None:
    producer = Producer(gateway, protocol=TV1)
    producer.add(("t", 0))
    gateway.broker.transactions._machine.unload(range(50), gateway.now_ms)
    assert producer.write("t", 0, b"a", version=9) == ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_batch_of_a_wrong_producer_or_without_transactional_id_is_refused(gateway: Gateway) -> None:
    producer = Producer(gateway)
    right = producer.producer_id
    producer.producer_id = right + 7
    assert producer.write("t", 0, b"a") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    producer.producer_id, producer.epoch = right, 5
    assert producer.write("t", 0, b"a") == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.epoch = 0
    request = producer.producing(("t", 0), value=b"a")
    request.transactional_id = None
    (outcome,) = outcomes(producer.client.call(request, 12))
    assert outcome.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_two_producers_in_one_request_are_refused(gateway: Gateway) -> None:
    producer, other = Producer(gateway), Producer(gateway, "other")
    first = producer.producing(("t", 0), value=b"a")
    second = other.producing(("t", 1), value=b"b")
    both = ProduceRequest(
        transactional_id="tx", acks=-1, timeout_ms=1_000, topic_data=first.topic_data + second.topic_data
    )
    codes = [outcome.error_code for outcome in outcomes(producer.client.call(both, 12))]
    assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_a_plain_batch_is_refused_while_its_producer_has_a_transaction_open(gateway: Gateway) -> None:
    from tests.broker.kit import batch, send

    producer = Producer(gateway, protocol=TV2)
    producer.write("t", 0, b"a")
    plain = batch(b"p", producer=(producer.producer_id, producer.epoch, 1))
    assert send(producer.client, "t", plain).error_code == ErrorCode.INVALID_TXN_STATE


def test_a_request_that_comes_while_markers_are_written_waits_for_them() -> None:
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway, protocol=TV1)
    for index in range(4):
        producer.write("t", index, b"a")
    producer.client.send(producer.ending(commit=True), 4)
    while not (answers := producer.client.answers()):
        gateway.run_jobs()
    assert answers[0].error_code == 0
    assert producer.add(("t", 0)) == [0]
