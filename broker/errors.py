"""Errors a request ends in, and how the engine's errors become Kafka's codes.

RequestError(code, message)      one item of a request, or the whole of it, is refused
"""

from __future__ import annotations

from protocol.error_codes import ErrorCode

_BY_NUMBER = {int(code): code for code in ErrorCode}


def code_of(number: int) -> ErrorCode:
    """The error code of that number."""
    return _BY_NUMBER[number]


class RequestError(Exception):
    """An item of a request is refused with a Kafka error code and a sentence for its sender."""

    def __init__(
        self,
        code: ErrorCode,
        message: str | None = None,
        *,
        record_errors: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        # (index in the batch, why) of each record that is to blame.
        self.record_errors = record_errors


def storage_error(error: Exception) -> RequestError:
    """What a client is told when the engine cannot take or give bytes: KAFKA_STORAGE_ERROR and why.

    56 is retriable and makes no idempotent producer give up, which UNKNOWN_SERVER_ERROR would (KAFKA-14034).
    """
    return RequestError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
