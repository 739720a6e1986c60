"""The outcome of each batch in the answer to a Produce request."""

from __future__ import annotations

from typing import Final, NamedTuple

from console.client import refusal
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceResponse

TOO_LARGE: Final = ErrorCode.MESSAGE_TOO_LARGE


class Outcome(NamedTuple):
    """The fate of a batch: Kafka's code, and what is said of it."""

    code: int
    words: str

    @property
    def is_stored(self) -> bool:
        """Whether the batch is in the log; one that was there before counts."""
        return self.code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)

    @property
    def is_retriable(self) -> bool:
        """Whether sending it again may help; a batch out of order follows one that is sent again, too."""
        return self.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or ErrorCode(self.code).retriable


def outcomes_of(answer: ProduceResponse) -> dict[int, Outcome]:
    """Return the outcome for each partition."""
    found = {}
    for told in answer.responses[0].partition_responses:
        words = refusal(told.error_code, told.error_message) if told.error_code else ""
        reasons = [
            f"record {error.batch_index} of its batch: {error.batch_index_error_message}"
            for error in told.record_errors[:1]
            if error.batch_index_error_message
        ]
        found[told.index] = Outcome(told.error_code, "; ".join([words, *reasons]))
    return found
