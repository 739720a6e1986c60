"""Internal errors become a Kafka code and a sentence."""

from __future__ import annotations

import errno

import pytest

from broker.errors import RequestError, code_of, storage_error
from protocol.error_codes import MESSAGE_CHARS_MAX, ErrorCode
from wal.disk_errors import disk_error
from wal.errors import LogFailed


def test_a_code_is_found_by_its_number() -> None:
    assert all(code_of(int(code)) is code for code in ErrorCode)


@pytest.mark.parametrize(
    "error", [LogFailed("the log has failed"), disk_error("write to", "/data/x", errno.ENOSPC)]
)
def test_storage_faults_are_retriable_and_say_why(error: Exception) -> None:
    refused = storage_error(error)
    assert refused.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert refused.code.retriable
    assert refused.message == str(error)


def test_a_refusal_may_name_records() -> None:
    refused = RequestError(ErrorCode.INVALID_TIMESTAMP, "too old", record_errors=((3, "older"),))
    assert refused.record_errors == ((3, "older"),)
    assert str(refused) == "INVALID_TIMESTAMP: too old"


def test_a_sentence_with_a_very_long_name_in_it_is_cut() -> None:
    refused = RequestError(ErrorCode.INVALID_REQUEST, f"no topic named {'x' * 32_767}")
    assert refused.message is not None
    assert refused.message.startswith("no topic named xxx")
    assert refused.message.endswith("x…")
    assert len(refused.message) == MESSAGE_CHARS_MAX
