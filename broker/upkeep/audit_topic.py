"""The internal topic `__kawal_audit`: a sink of the audit trail that appends each batch of events.

It is created before the first batch.  It uses the space that is reserved for commits on a full disk: a client
that deletes something to make room has to be told of.  A client that may alter it can change its retention,
which is an event; its records are protected from deletion, and none but the server's are taken.
"""

from __future__ import annotations

from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import NewTopic
from broker.catalogue.topics import AUDIT_TOPIC, Topic
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.security.audit_trail import Batch, Done
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from wal.disk import DiskError
from wal.errors import WalError

RETENTION_MS: Final = 30 * 24 * 3_600_000


class AuditTopic:
    """The sink."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop

    def write(self, batch: Batch, done: Done) -> None:
        """Append the lines of a batch; `done` when they are durable."""
        now_ms = self._loop.clock.turn_ms
        topic = self._metadata.catalogue.by_name.get(AUDIT_TOPIC)
        if topic is not None and topic.recorded:
            self._append(topic, batch, done)
            return
        try:
            if topic is None:
                topics = self._metadata.topics
                topics.create(topics.check_new(new_topic(), self._loop.clock.wall_ms(now_ms)), now_ms)
        except RequestError as error:
            done(f"{AUDIT_TOPIC} cannot be created: {error.message}")
            return

        def made(error: ErrorCode | None) -> None:
            if error is None:
                self.write(batch, done)
            else:
                done(f"{AUDIT_TOPIC} was not created: {error.name}")

        self._metadata.metadata_log.when_durable(made, now_ms)

    def _append(self, topic: Topic, batch: Batch, done: Done) -> None:
        assert batch.lines is not None, "the lines were made before"
        now_ms = self._loop.clock.turn_ms
        partition = self._metadata.topics.partition(topic, 0)
        vnode = partition.vnode
        times = (event["time_ms"] for event in batch.events)
        records = [
            Record(number, time_ms, None, line.rstrip(b"\n"))
            for number, (time_ms, line) in enumerate(zip(times, batch.lines, strict=True))
        ]
        try:
            appended = vnode.log.append(partition.stream_id, encode_batch(records), reserved=True)
        except (WalError, DiskError) as error:
            done(f"{AUDIT_TOPIC}: {error}")
            return
        vnode.last_version = appended.version
        vnode.wait_durable(appended.version, _Waiter(done), now_ms)


class _Waiter:
    """Passes on the outcome of an append."""

    __slots__ = ("_done",)

    def __init__(self, done: Done) -> None:
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Pass it on."""
        self._done(None if error is None else f"{AUDIT_TOPIC}: {error.name}")


def new_topic() -> NewTopic:
    """Return the topic as it is made."""
    return NewTopic(
        name=AUDIT_TOPIC,
        partition_count=1,
        replication_factor=1,
        configs={
            "cleanup.policy": "delete",
            "retention.ms": str(RETENTION_MS),
            "kawal.deletion.protected": "true",
        },
    )
