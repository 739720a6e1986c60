"""Error codes are Kafka's: complete, with the retriable ones marked."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode


def test_codes_are_complete_to_kafka_4_3() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 134))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_what_clients_retry_is_retriable(code: ErrorCode) -> None:
    assert code.retriable


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NONE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.TRANSACTION_ABORTABLE,
    ],
)
def test_what_needs_a_decision_is_not(code: ErrorCode) -> None:
    assert not code.retriable


def test_codes_are_numbers_with_a_meaning() -> None:
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION + 0 == 3
    assert ErrorCode(3).text == "there is no such topic or partition here"


def test_every_meaning_is_one_plain_line() -> None:
    for code in ErrorCode:
        assert code.text == code.text.strip()
        assert 0 < len(code.text) <= 80
        assert not code.text.endswith(".")
