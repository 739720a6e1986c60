"""Produce requests that repeat each other: one batch for one partition, again and again.

    request header | head: no transaction, acks, timeout, topic, partition | batch | no tags
                     `------------------ always the same ----------------'

Versions before 9 have lengths of a fixed size where later ones have compact ones, and no tags at the end.

The requests of most producers differ in their batch alone.  The first with a head is served as any other; if
nothing about its topic is special, the partition is remembered under the head, with the bytes of the answer.
Those that follow are neither decoded nor passed from hand to hand.  The batch is judged as on the ordinary
way, without what their topics never ask (`append_plain`), and one that is refused takes that way from the
start, which answers it.

What was remembered counts as long as the topic and its settings are the same objects.  It holds no right: the
gate is asked about the client of each request, and one that it would hold back takes the ordinary way.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from broker.catalogue.catalogue_records import TopicDeleted
from broker.catalogue.queue_lengths import has_length
from broker.config.kawal_topic_keys import CODECS
from broker.errors import RequestError
from broker.loop.answers import WholeAnswer
from broker.loop.call import Call
from broker.storage.append import AppendResult, append_plain
from protocol.headers import encode_response_header
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.records import HEADER_BYTES, TRANSACTIONAL
from protocol.wire import encode

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import CatalogueRecord
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.config.topic_settings import TopicSettings
    from broker.loop.loop import Loop
    from broker.requests.gate import WriteGate
    from broker.storage.partition import Partition
    from broker.storage.vnode import Vnode
    from protocol.error_codes import ErrorCode

FLEXIBLE_SINCE_VERSION: Final = 9
"""From here on lengths are compact; before, they have a fixed size."""

TOPIC_IDS_SINCE_VERSION: Final = 13
LOG_START_SINCE_VERSION: Final = 5

HEADS_MAX: Final = 4_096
"""The heads that are remembered, 1 KB each; when there are more, all are learned anew."""

ONE: Final = 2
"""The length of a compact array with one element."""

LONGEST_NAME: Final = 0x80
"""Names of which the length takes one byte are shorter."""

TAIL: Final = b"\0\0\0"
"""The tagged fields of partition, topic and request: none."""

_ATTRIBUTES_AT: Final = 22
_MARKS: Final = (0x1122334455667701, 0x1122334455667702, 0x1122334455667703)
"""Base offset, append time and log start where an answer's template has them."""

_FIELDS: Final = "qqq"
_OLD_FIELDS: Final = "qq"

NO_ID: Final = -1
"""The length of a transactional id that there is not, before version 9."""

_OLD_HEAD: Final = Struct(">hhiih")
"""Length of the transactional id, acks, timeout, number of topics, length of the first one's name."""

_OLD_LENGTH: Final = Struct(">i")

LOST: Final = "the records could not be made durable; see the server's log"


def head_end(version: int, data: memoryview, position: int) -> int:
    """Return the end of the head that begins at `position`; -1: the request is not of this form."""
    if version < FLEXIBLE_SINCE_VERSION:
        return _old_head_end(data, position)
    if len(data) < position + HEADER_BYTES or data[position] or data[position + 7] != ONE:
        return -1
    if version >= TOPIC_IDS_SINCE_VERSION:
        partitions = position + 8 + 16
    else:
        length = data[position + 8]
        if not 1 < length < LONGEST_NAME:
            return -1
        partitions = position + 8 + length
    end = partitions + 5
    if len(data) < end + HEADER_BYTES or data[partitions] != ONE:
        return -1
    return end


def _old_head_end(data: memoryview, position: int) -> int:
    if len(data) < position + HEADER_BYTES:
        return -1
    id_length, _acks, _timeout_ms, topics, name_length = _OLD_HEAD.unpack_from(data, position)
    if id_length != NO_ID or topics != 1 or not 0 < name_length < LONGEST_NAME:
        return -1
    partitions: int = position + _OLD_HEAD.size + name_length
    end = partitions + 8
    if len(data) < end + HEADER_BYTES or _OLD_LENGTH.unpack_from(data, partitions)[0] != 1:
        return -1
    return end


def old_batch_in(data: memoryview, position: int) -> memoryview | None:
    """Return the batch whose length of 4 bytes is at `position`, if nothing follows it."""
    length = _OLD_LENGTH.unpack_from(data, position)[0]
    position += 4
    if length < HEADER_BYTES or position + length != len(data):
        return None
    return data[position:]


def batch_in(data: memoryview, position: int) -> memoryview | None:
    """Return the batch whose compact length is at `position`, if it is below 2 MiB and nothing follows it."""
    length = data[position]
    position += 1
    if length & 0x80:
        length = length & 0x7F | data[position] << 7
        position += 1
        if length & 0x4000:
            length = length & 0x3FFF | data[position] << 14
            position += 1
            if length & 0x200000:
                return None
    stop = position + length - 1
    if length <= HEADER_BYTES or stop + len(TAIL) != len(data) or bytes(data[stop:]) != TAIL:
        return None
    return data[position:stop]


class KnownHead:
    """The meaning of a head, and the answer to it."""

    __slots__ = (
        "_after",
        "_answer",
        "_before",
        "_tells_log_start",
        "partition",
        "request",
        "settings",
        "topic",
        "weight_bytes",
    )

    def __init__(
        self, call: Call[ProduceRequest], partition: Partition, settings: TopicSettings, weight_bytes: int
    ) -> None:
        """`call` is the first of its kind, and `weight_bytes` what it weighs beyond its bytes."""
        self.topic: Topic = partition.topic
        self.settings = settings
        self.partition = partition
        self.weight_bytes = weight_bytes
        (named,) = call.request.topic_data
        self.request = ProduceRequest(
            acks=call.request.acks, timeout_ms=call.request.timeout_ms, topic_data=[]
        )
        offset, time_ms, start = _MARKS
        answer = PartitionProduceResponse(
            index=partition.index, base_offset=offset, log_append_time_ms=time_ms, log_start_offset=start
        )
        topic = TopicProduceResponse(name=named.name, topic_id=named.topic_id, partition_responses=[answer])
        body = b"".join(encode(ProduceResponse(responses=[topic]), call.version))  # type: ignore[arg-type]  # no file ranges
        self._tells_log_start = call.version >= LOG_START_SINCE_VERSION
        fields = _FIELDS if self._tells_log_start else _OLD_FIELDS
        before, self._after = body.split(Struct(f">{fields}").pack(*_MARKS[: len(fields)]))
        # The correlation id is the only part of the header that differs.
        self._before = encode_response_header(call.api_key, call.version, 0)[4:] + before
        self._answer = Struct(f">ii{len(self._before)}s{fields}{len(self._after)}s")

    def answer(self, correlation_id: int, result: AppendResult, log_start: int) -> WholeAnswer:
        """Return the answer for a batch that was appended."""
        form = self._answer
        head = form.size - 4, correlation_id, self._before, result.base_offset, result.append_time_ms
        if self._tells_log_start:
            return WholeAnswer(form.pack(*head, log_start, self._after))
        return WholeAnswer(form.pack(*head, self._after))


class RepeatedProduce:
    """A batch that waits for the disk."""

    __slots__ = ("_call", "_known", "_log_start", "_result")

    def __init__(self, call: Call[ProduceRequest], known: KnownHead, result: AppendResult) -> None:
        self._call = call
        self._known = known
        self._result = result
        self._log_start = known.partition.log_start

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Answer."""
        known = self._known
        if error is None:
            call = self._call
            call.reply(known.answer(call.correlation_id, self._result, self._log_start))
            return
        answer = PartitionProduceResponse(
            index=known.partition.index,
            error_code=error,
            base_offset=-1,
            log_append_time_ms=self._result.append_time_ms,
            log_start_offset=self._log_start,
            error_message=LOST,
        )
        topic = TopicProduceResponse(
            name=known.topic.name, topic_id=known.topic.topic_id, partition_responses=[answer]
        )
        self._call.reply(ProduceResponse(responses=[topic]))


class RepeatedProduces:
    """The heads that are known, by version and bytes."""

    def __init__(self, metadata: Metadata, loop: Loop, gate: WriteGate) -> None:
        self._metadata = metadata
        self._loop = loop
        self._gate = gate
        self._known: dict[tuple[int, bytes], KnownHead] = {}
        # Their keys by topic: a topic that was deleted is let go at once, not when its head is seen again.
        self._of_topic: dict[UUID, set[tuple[int, bytes]]] = {}
        # The size of the head that was seen last: most are like it.
        self._head_bytes = 0
        # The log of the catalogue is opened after the dispatcher is made.
        self._listens = False

    def _catalogue_changed(self, record: CatalogueRecord, _now_ms: int) -> None:
        if isinstance(record, TopicDeleted):
            for key in self._of_topic.pop(UUID(hex=record.topic_id), ()):
                self._known.pop(key, None)

    def serve(self, call: Call[Any], data: memoryview, position: int) -> bool:
        """Append the batch of a request with a known head; False: nothing was done."""
        version, end = call.version, position + self._head_bytes
        # A head tells where it ends, so one that is known ends there wherever it is found.
        known = self._known.get(key := (version, bytes(data[position:end])))
        if known is None or len(data) < end + HEADER_BYTES:
            end = head_end(version, data, position)
            known = self._known.get(key := (version, bytes(data[position:end]))) if end >= 0 else None
            if known is None:
                return False
            self._head_bytes = end - position
        topic = known.topic
        if topic.settings is not known.settings or self._metadata.catalogue.find(topic.name) is not topic:
            del self._known[key]
            return False
        if not self._gate.lets_write(call.connection, topic.name):
            return False
        batch = batch_in(data, end) if version >= FLEXIBLE_SINCE_VERSION else old_batch_in(data, end)
        if batch is None or batch[_ATTRIBUTES_AT] & TRANSACTIONAL:
            return False
        try:
            wall_ms = self._loop.clock.wall_ms(call.received_ms)
            result = append_plain(call, known.partition, batch, known.settings, wall_ms)
        except RequestError:
            return False
        call.request = known.request
        connection = call.connection
        connection.weigh(call, call.weight_bytes + known.weight_bytes)
        known.partition.vnode.wait_durable(
            result.version, RepeatedProduce(call, known, result), call.received_ms
        )
        connection.parked()
        return True

    def learn(self, call: Call[Any], data: memoryview, position: int, weight_bytes: int) -> None:
        """Remember the head of a decoded request if nothing about it is special."""
        end = head_end(call.version, data, position)
        if end < 0 or call.request.acks not in (-1, 1):
            return
        (named,) = call.request.topic_data
        topic = self._find(named.name, named.topic_id, call.version)
        index = named.partition_data[0].index
        if topic is None or not 0 <= index < topic.partition_count or not self._is_plain(topic):
            return
        if not self._gate.lets_write(call.connection, topic.name):
            return
        if not self._listens:
            self._listens = True
            self._metadata.metadata_log.listen(self._catalogue_changed)
        if len(self._known) >= HEADS_MAX:
            self._known.clear()
            self._of_topic.clear()
        topics = self._metadata.topics
        if (partition := topics.here(topic, index)) is not None:
            known = KnownHead(call, partition, topics.settings(topic), weight_bytes)
            key = (call.version, bytes(data[position:end]))
            self._known[key] = known
            self._of_topic.setdefault(topic.topic_id, set()).add(key)

    def _find(self, name: str, topic_id: Any, version: int) -> Topic | None:
        catalogue = self._metadata.catalogue
        return catalogue.find_id(topic_id) if version >= TOPIC_IDS_SINCE_VERSION else catalogue.find(name)

    def _is_plain(self, topic: Topic) -> bool:
        """Whether a batch that `append_plain` accepts, with these settings, may be stored as it is."""
        if topic.view is not None or topic.internal:
            return False
        settings = self._metadata.topics.settings(topic)
        return not (
            settings.opens_batches
            or settings.routes_records
            or settings.kawal_read_only
            or settings.kawal_session_headers
            or settings.kawal_codecs_allowed is not CODECS
            or settings.kawal_max_partition_bytes >= 0
            or settings.kawal_partition_write_bytes_per_sec > 0
            or has_length(self._metadata, topic)
        )
