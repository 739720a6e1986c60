"""DescribeTransactions: one id after the other."""

from __future__ import annotations

from typing import Any

from broker.handlers.describe_transactions import IDS_PER_STEP, PARTITIONS_PER_ID
from broker.loop.slices import STEPS_AT_ONCE
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import TV1, Producer


def describe(gateway: Gateway, *names: str) -> list[Any]:
    request = DescribeTransactionsRequest(transactional_ids=list(names))
    found: list[Any] = gateway.client().call(request, 0).transaction_states
    return found


def test_a_description_has_the_state_the_producer_and_the_partitions() -> None:
    gateway = Gateway()
    create(gateway.client(), "t", partitions=3)
    producer = Producer(gateway)
    producer.write("t", 2, b"a")
    producer.write("t", 0, b"a")
    (found,) = describe(gateway, "tx")
    assert (found.transaction_state, found.transaction_timeout_ms) == ("Ongoing", 60_000)
    assert (found.producer_id, found.producer_epoch) == (producer.producer_id, 0)
    assert found.transaction_start_time_ms == gateway.now_ms
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", [0, 2])]


def test_ids_that_are_unknown_or_empty_answer_their_own_errors() -> None:
    codes = [found.error_code for found in describe(Gateway(), "x", "")]
    assert codes == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.INVALID_REQUEST]


def test_very_many_ids_are_described_in_slices() -> None:
    assert len(describe(Gateway(), *map(str, range(300)))) == 300


def test_a_few_ids_with_wide_transactions_are_described_in_slices() -> None:
    gateway = Gateway()
    create(gateway.client(), "t", partitions=IDS_PER_STEP * PARTITIONS_PER_ID)
    Producer(gateway, "wide", protocol=TV1).add(
        *(("t", index) for index in range(IDS_PER_STEP * PARTITIONS_PER_ID))
    )
    client = gateway.client()
    client.send(DescribeTransactionsRequest(transactional_ids=["wide"] * 12), 0)
    steps = 0
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        steps += 1
    assert steps >= 12 - STEPS_AT_ONCE
    (answer,) = client.answers()
    (topic,) = answer.transaction_states[-1].topics
    assert topic.partitions == list(range(IDS_PER_STEP * PARTITIONS_PER_ID))
