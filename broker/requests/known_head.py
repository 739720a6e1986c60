"""One head of Produce requests whose meaning is known: the partition, its topic's settings, the answers."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.api_keys import ApiKey
from protocol.headers import encode_response_header
from protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol.wire import encode

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.config.topic_settings import TopicSettings
    from broker.storage.partition import Partition
    from protocol.error_codes import ErrorCode

LOG_START_SINCE_VERSION: Final = 5

_MARKS: Final = (0x1122334455667701, 0x1122334455667702, 0x1122334455667703)
"""Base offset, append time and log start where an answer's template has them."""

_FIELDS: Final = "qqq"
_OLD_FIELDS: Final = "qq"

LOST: Final = "the records could not be made durable; see the server's log"


class Stored(NamedTuple):
    """A batch that was appended for a request."""

    correlation_id: int
    base_offset: int
    append_time_ms: int
    version: int
    """It is safe once the log's next version is above."""


class KnownHead:
    """The meaning of a head, and the answer to it."""

    __slots__ = (
        "_after",
        "_answer",
        "_before",
        "_tells_log_start",
        "head",
        "partition",
        "settings",
        "topic",
        "version",
        "weight_bytes",
    )

    def __init__(
        self,
        version: int,
        head: bytes,
        partition: Partition,
        settings: TopicSettings,
        weight_bytes: int,
    ) -> None:
        """`weight_bytes` is what a request weighs beyond its bytes."""
        self.version = version
        self.head = head
        self.topic: Topic = partition.topic
        self.settings = settings
        self.partition = partition
        self.weight_bytes = weight_bytes
        offset, time_ms, start = _MARKS
        answer = PartitionProduceResponse(
            index=partition.index, base_offset=offset, log_append_time_ms=time_ms, log_start_offset=start
        )
        body = b"".join(encode(self._response(answer), version))  # type: ignore[arg-type]  # no file ranges
        self._tells_log_start = version >= LOG_START_SINCE_VERSION
        fields = _FIELDS if self._tells_log_start else _OLD_FIELDS
        before, self._after = body.split(Struct(f">{fields}").pack(*_MARKS[: len(fields)]))
        # The correlation id is the only part of the header that differs.
        self._before = encode_response_header(ApiKey.PRODUCE, version, 0)[4:] + before
        self._answer = Struct(f">ii{len(self._before)}s{fields}{len(self._after)}s")

    def _response(self, answer: PartitionProduceResponse) -> ProduceResponse:
        topic = TopicProduceResponse(
            name=self.topic.name, topic_id=self.topic.topic_id, partition_responses=[answer]
        )
        return ProduceResponse(responses=[topic])

    def answers(self, stored: list[Stored], log_start: int) -> bytes:
        """Return the answers for batches that were stored."""
        pack, size, before, after = self._answer.pack, self._answer.size - 4, self._before, self._after
        if self._tells_log_start:
            found = [pack(size, number, before, base, ms, log_start, after) for number, base, ms, _ in stored]
        else:
            found = [pack(size, number, before, base, ms, after) for number, base, ms, _ in stored]
        return b"".join(found)

    def refusal(self, error: ErrorCode, append_time_ms: int, log_start: int) -> ProduceResponse:
        """Return the answer for a batch that was lost."""
        return self._response(
            PartitionProduceResponse(
                index=self.partition.index,
                error_code=error,
                base_offset=-1,
                log_append_time_ms=append_time_ms,
                log_start_offset=log_start,
                error_message=LOST,
            )
        )

    def refusals(self, error: ErrorCode, stored: list[Stored], log_start: int) -> bytes:
        """Return the answers for several such batches."""
        found = b""
        for number, _, append_time_ms, _ in stored:
            response = self.refusal(error, append_time_ms, log_start)
            body = b"".join(encode(response, self.version))  # type: ignore[arg-type]  # no file ranges
            header = encode_response_header(ApiKey.PRODUCE, self.version, number)
            found += (len(header) + len(body)).to_bytes(4) + header + body
        return found
