"""The batches of a node's audit events on their way to the node that leads their topic.

    batch --> its records, with the next sequence number --> leader: new or there already --> durable --> done
                      ^---- AGAIN_MS after no answer ---------'

One batch is on its way at a time.  It is sent until it is durable, with the same sequence number of the same
producer id, so that it is stored once, whatever is lost on the way or dies meanwhile.  What keeps the leader
from answering is not told at once: the trail tells of a batch that is not written after five seconds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.catalogue.topic import AUDIT_TOPIC
from broker.errors import RequestError
from broker.upkeep.audit_topic import AuditTopic, create_if_missing, records_of
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_audit import KawalAuditRequest, KawalAuditResponse
from protocol.record_writer import encode_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker.catalogue.metadata import Metadata
    from broker.catalogue.producer_ids import ProducerIds
    from broker.catalogue.topic import Topic
    from broker.loop.loop import Loop
    from broker.security.audit_trail import Batch, Done

AGAIN_MS: Final = 200
"""The pause before a batch is sent again: a worker that has died is back after some 500 ms."""

SEQUENCE_MAX: Final = 0x7FFFFFFF
"""Sequence numbers begin at 0 again after this one, as in Kafka."""

PASSING: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER})
"""Answers of a node that does not know yet what this one knows, or has yet to create the topic."""


class Sent(NamedTuple):
    """A batch on its way."""

    batch: Batch
    request: KawalAuditRequest


class AuditElsewhere:
    """The sink of one of several nodes, which may be the leader itself."""

    def __init__(self, metadata: Metadata, loop: Loop, producer_ids: ProducerIds) -> None:
        self._metadata = metadata
        self._loop = loop
        self._producer_ids = producer_ids
        self._here = AuditTopic(metadata, loop)
        self._producer_id: int | None = None
        self._sequence = 0
        self._sent: Sent | None = None

    def write(self, batch: Batch, done: Done) -> None:
        """Have a batch stored; `done` when it is durable, or with the reason why it cannot be written."""
        metadata = self._metadata
        topic = metadata.catalogue.by_name.get(AUDIT_TOPIC)
        if self._asked(topic) != metadata.nodes.own_id:
            self._write_elsewhere(batch, done)
        elif topic is not None and topic.recorded:
            self._here.write(batch, done)
        else:
            try:
                create_if_missing(metadata, self._loop)
            except RequestError as error:
                done(f"{AUDIT_TOPIC} cannot be created: {error.message}")
                return
            # Where its leader is will be known when it is there.
            self._again(lambda: self.write(batch, done))

    def _asked(self, topic: Topic | None) -> int:
        """Return the node that takes batches: the leader, or the controller, which creates the topic."""
        if topic is None or not topic.recorded:
            return self._metadata.nodes.controller_id
        return self._metadata.topics.leader(topic, 0)[0]

    def _write_elsewhere(self, batch: Batch, done: Done) -> None:
        if self._producer_id is None:
            self._begin(batch, done)
            return
        if self._sent is None or self._sent.batch is not batch:
            records = encode_batch(
                records_of(batch),
                producer_id=self._producer_id,
                producer_epoch=0,
                base_sequence=self._sequence,
            )
            self._sent = Sent(batch, KawalAuditRequest(records=bytes(records)))
        topic = self._metadata.catalogue.by_name.get(AUDIT_TOPIC)
        answered = partial(self._answered, self._sent, done)
        self._metadata.nodes.peers.call(self._asked(topic), self._sent.request, 0, answered)

    def _begin(self, batch: Batch, done: Done) -> None:
        """Get a producer id, then write the batch."""

        def taken(found: int | ErrorCode) -> None:
            if isinstance(found, ErrorCode):
                self._again(lambda: self.write(batch, done))
                return
            self._producer_id, self._sequence, self._sent = found, 0, None
            self.write(batch, done)

        try:
            self._producer_ids.take(taken, self._loop.clock.turn_ms)
        except RequestError as error:
            done(f"{AUDIT_TOPIC}: {error.message}")

    def _answered(self, sent: Sent, done: Done, answer: KawalAuditResponse | None) -> None:
        if answer is None or answer.error_code in PASSING:
            self._again(lambda: self.write(sent.batch, done))
        elif not answer.error_code:
            self._sequence = (self._sequence + len(sent.batch.events)) & SEQUENCE_MAX
            self._sent = None
            done(None)
        else:
            if answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                # The records that this id has stored were lost with their log.
                self._producer_id = None
            done(f"{AUDIT_TOPIC}: {ErrorCode(answer.error_code).name}")

    def _again(self, action: Callable[[], None]) -> None:
        if not self._loop.stopping:
            self._loop.timers.add(self._loop.clock.turn_ms + AGAIN_MS, lambda _now_ms: action())
