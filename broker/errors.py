"""Errors that a request ends in, and Kafka's code for the engine's errors.

RequestError(code, message)      one item of a request, or the whole of it, is refused
Sentences().take(message)        the same sentence for each of 200,000 items has a bound
"""

from __future__ import annotations

from typing import Final

from protocol.error_codes import ErrorCode, cut_message

SENTENCES_CHARS_MAX: Final = 64 << 10
"""The characters of the sentences in an answer with an error for each partition."""

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


class Sentences:
    """The sentences of an answer with an error for each partition: past a bound, errors have codes alone.

    A partition takes four bytes of a request, and the sentence about it may have the name of its topic.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = SENTENCES_CHARS_MAX

    def take(self, message: str | None) -> str | None:
        """Return the sentence, cut if it is long, or None if there is no room left for it."""
        if message is None or self._left <= 0:
            return None
        message = cut_message(message)
        self._left -= len(message)
        return message


def storage_error(error: Exception) -> RequestError:
    """Return KAFKA_STORAGE_ERROR and the reason, for an engine that cannot write or read bytes.

    The code (56) is retriable; UNKNOWN_SERVER_ERROR would make idempotent producers give up (KAFKA-14034).
    """
    return RequestError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
