"""Errors that a request ends in, and Kafka's code for the engine's errors.

RequestError(code, message)      one item of a request, or the whole of it, is refused
"""

from __future__ import annotations

from protocol.error_codes import ErrorCode, cut_message

_BY_NUMBER = {int(code): code for code in ErrorCode}


def code_of(number: int) -> ErrorCode:
    """Return the error code of that number."""
    return _BY_NUMBER[number]


class RequestError(Exception):
    """An item of a request is refused with a Kafka error code and a sentence for its sender, cut if long."""

    def __init__(
        self,
        code: ErrorCode,
        message: str | None = None,
        *,
        record_errors: tuple[tuple[int, str], ...] = (),
    ) -> None:
        if message is not None:
            message = cut_message(message)
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        # (index in the batch, reason) of each record at fault.
        self.record_errors = record_errors


def storage_error(error: Exception) -> RequestError:
    """Return KAFKA_STORAGE_ERROR and the reason, for an engine that cannot write or read bytes.

    The code (56) is retriable; UNKNOWN_SERVER_ERROR would make idempotent producers give up (KAFKA-14034).
    """
    return RequestError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
