"""Bad input to transactions: every illegal step has Kafka's code, in the first and the second protocol."""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

import pytest

from compat_tests.batches import Batch
from compat_tests.conftest import MakeTopic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_REQUEST = 42
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
INVALID_PRODUCER_ID_MAPPING = 49
INVALID_TRANSACTION_TIMEOUT = 50
CONCURRENT_TRANSACTIONS = 51
OPERATION_NOT_ATTEMPTED = 55
PRODUCER_FENCED = 90
TRANSACTION_ABORTABLE = 120

TV1_END, TV2_END = 4, 5
numbers = count()


class Identity(NamedTuple):
    """A producer as the coordinator knows it."""

    name: str
    producer_id: int
    epoch: int


@pytest.fixture
def producer(raw: RawClient) -> Identity:
    name = f"bad-input-{next(numbers)}"
    found = FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    eventually(
        lambda: not raw.call(found, 4).coordinators[0].error_code,
        waiting_for="the coordinator of transactions",
    )
    return init(raw, name)


def init(raw: RawClient, name: str, **fields: int) -> Identity:
    """Begin a new instance, once the coordinator is ready."""
    answer = eventually(
        lambda: found if not (found := initializing(raw, name, **fields)).error_code else None,
        waiting_for=f"an id for {name}",
    )
    return Identity(name, answer.producer_id, answer.producer_epoch)


def initializing(raw: RawClient, name: str, *, timeout_ms: int = 60_000, **fields: int) -> Any:
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms, **fields)
    return raw.call(request, 5)


def add(raw: RawClient, producer: Identity, *places: tuple[str, int], version: int = 3) -> list[int]:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=producer.name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in places
        ],
    )
    answer = raw.call(request, version)
    return [
        part.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ]


def end(raw: RawClient, producer: Identity, *, commit: bool, version: int) -> int:
    request = EndTxnRequest(
        transactional_id=producer.name,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=commit,
    )
    return int(raw.call(request, version).error_code)


def produce(
    raw: RawClient,
    producer: Identity,
    topic: str,
    *,
    version: int,
    sequence: int = 0,
    transactional: bool = True,
) -> int:
    batch = Batch(
        values=[b"a"],
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        attributes=0x10 if transactional else 0,
    )
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=0, records=batch.encode())]
    )
    request = ProduceRequest(
        transactional_id=producer.name if transactional else None,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[data],
    )
    return int(raw.call(request, version).responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize(
    ("name", "timeout_ms", "code"),
    [
        ("", 60_000, INVALID_REQUEST),
        ("long", 900_001, INVALID_TRANSACTION_TIMEOUT),
        ("zero", 0, INVALID_TRANSACTION_TIMEOUT),
        ("negative", -1, INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_an_empty_id_and_timeouts_out_of_bounds_are_refused(
    raw: RawClient, producer: Identity, name: str, timeout_ms: int, code: int
) -> None:
    assert initializing(raw, name, timeout_ms=timeout_ms).error_code == code


@pytest.mark.parametrize(
    ("version", "code"), [(10, INVALID_TXN_STATE), (11, TRANSACTION_ABORTABLE)], ids=["v10", "v11"]
)
def test_a_batch_outside_of_the_transaction_is_refused(
    raw: RawClient, producer: Identity, make_topic: MakeTopic, version: int, code: int
) -> None:
    topic = make_topic(2)
    assert add(raw, producer, (topic, 1)) == [NONE]
    assert produce(raw, producer, topic, version=version) == code


def test_a_plain_batch_is_refused_while_its_producer_has_a_transaction_open(
    raw: RawClient, producer: Identity, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    assert produce(raw, producer, topic, version=12) == NONE
    assert produce(raw, producer, topic, version=12, sequence=1, transactional=False) == INVALID_TXN_STATE


def test_an_epoch_that_was_fenced_is_refused_everywhere(
    raw: RawClient, producer: Identity, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    init(raw, producer.name)
    assert add(raw, producer, (topic, 0)) == [PRODUCER_FENCED]
    assert add(raw, producer, (topic, 0), version=1) == [INVALID_PRODUCER_EPOCH]
    assert produce(raw, producer, topic, version=12) == INVALID_PRODUCER_EPOCH
    for commit in (True, False):
        assert end(raw, producer, commit=commit, version=1) == INVALID_PRODUCER_EPOCH
        assert end(raw, producer, commit=commit, version=TV1_END) == PRODUCER_FENCED
        assert end(raw, producer, commit=commit, version=TV2_END) == PRODUCER_FENCED


def test_the_abort_of_a_producer_that_was_fenced_leaves_the_new_ones_transaction_alone(
    raw: RawClient, producer: Identity, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    new = init(raw, producer.name)
    assert produce(raw, new, topic, version=12) == NONE
    assert end(raw, producer, commit=False, version=TV1_END) == PRODUCER_FENCED
    assert end(raw, new, commit=True, version=TV2_END) == NONE


def test_an_epoch_above_the_present_one_is_refused(raw: RawClient, producer: Identity) -> None:
    ahead = producer._replace(epoch=producer.epoch + 5)
    assert end(raw, ahead, commit=True, version=TV1_END) == PRODUCER_FENCED
    assert end(raw, ahead, commit=True, version=TV2_END) == PRODUCER_FENCED


def test_another_producer_id_and_an_unknown_name_are_refused(
    raw: RawClient, producer: Identity, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    stranger = producer._replace(producer_id=producer.producer_id + 100_000)
    unknown = producer._replace(name="never-seen")
    for wrong in (stranger, unknown):
        assert add(raw, wrong, (topic, 0)) == [INVALID_PRODUCER_ID_MAPPING]
        assert end(raw, wrong, commit=True, version=TV1_END) == INVALID_PRODUCER_ID_MAPPING
        assert end(raw, wrong, commit=True, version=TV2_END) == INVALID_PRODUCER_ID_MAPPING
        assert produce(raw, wrong, topic, version=12) == INVALID_PRODUCER_ID_MAPPING


def test_a_transaction_that_has_not_begun_cannot_end(raw: RawClient, producer: Identity) -> None:
    for commit in (True, False):
        assert end(raw, producer, commit=commit, version=TV1_END) == INVALID_TXN_STATE
    assert end(raw, producer, commit=True, version=TV2_END) == INVALID_TXN_STATE
    assert end(raw, producer, commit=False, version=TV2_END) == NONE, "it raises the epoch"


def test_the_other_end_of_a_transaction_that_has_ended_is_refused(
    raw: RawClient, producer: Identity, make_topic: MakeTopic
) -> None:
    assert add(raw, producer, (make_topic(), 0)) == [NONE]
    assert end(raw, producer, commit=True, version=TV1_END) == NONE

    def again() -> bool:
        return end(raw, producer, commit=True, version=TV1_END) == NONE

    eventually(again, waiting_for="the markers")
    assert end(raw, producer, commit=False, version=TV1_END) == INVALID_TXN_STATE


def test_if_one_partition_does_not_exist_none_is_added(
    raw: RawClient, producer: Identity, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    assert add(raw, producer, (topic, 0), (topic + "-missing", 0)) == [
        OPERATION_NOT_ATTEMPTED,
        UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert end(raw, producer, commit=True, version=TV1_END) == INVALID_TXN_STATE
