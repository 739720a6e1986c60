"""DescribeTransactions: one id after the other."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import Producer


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
