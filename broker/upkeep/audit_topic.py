"""The internal topic `__kawal_audit`: a sink of the audit trail that appends each batch of events.

It is created before the first batch.  It uses the space that is reserved for commits on a full disk: a client
that deletes something to make room has to be told of.  A client that may alter it can change its retention,
which is an event; its records are protected from deletion, and none but the server's are taken.

Of several nodes the controller creates it, and the leader of its one partition takes the batches of all
(audit_elsewhere.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import NewTopic
from broker.catalogue.topics import AUDIT_TOPIC, Topic
from broker.errors import RequestError, code_of, storage_error
from broker.loop.loop import Loop
from broker.security.audit_trail import Batch, Done
from broker.storage.vnode import Vnode
from protocol.batch_check import BatchRefused, check_batch
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from wal.disk import DiskError
from wal.errors import WalError
from wal.producer_errors import ProducerError
from wal.stream_producers import Duplicate, ProducerStamp

RETENTION_MS: Final = 30 * 24 * 3_600_000


BATCH_BYTES_MAX: Final = 2 << 20
"""A batch of another node is at most as large as one here: 1 MiB of lines, and what surrounds them."""


class AuditTopic:
    """The sink."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop

    def write(self, batch: Batch, done: Done) -> None:
        """Append the lines of a batch; `done` when they are durable."""
        topic = self._metadata.catalogue.by_name.get(AUDIT_TOPIC)
        if topic is not None and topic.recorded:
            self._append(topic, batch, done)
            return
        try:
            create_if_missing(self._metadata, self._loop)
        except RequestError as error:
            done(f"{AUDIT_TOPIC} cannot be created: {error.message}")
            return

        def made(error: ErrorCode | None) -> None:
            if error is None:
                self.write(batch, done)
            else:
                done(f"{AUDIT_TOPIC} was not created: {error.name}")

        self._metadata.metadata_log.when_durable(made, self._loop.clock.turn_ms)

    def _append(self, topic: Topic, batch: Batch, done: Done) -> None:
        now_ms = self._loop.clock.turn_ms
        partition = self._metadata.topics.partition(topic, 0)
        vnode = partition.vnode
        try:
            data = encode_batch(records_of(batch))
            vnode.last_version = vnode.log.append(partition.stream_id, data, reserved=True).version
        except (WalError, DiskError) as error:
            done(f"{AUDIT_TOPIC}: {error}")
            return
        waiter = _Waiter(lambda error: done(None if error is None else f"{AUDIT_TOPIC}: {error.name}"))
        vnode.wait_durable(vnode.last_version, waiter, now_ms)


def append_of_node(
    metadata: Metadata, loop: Loop, data: bytearray, done: Callable[[ErrorCode | None], None]
) -> None:
    """Append a batch of another node, if it is not there yet; `done` when it is durable, or was lost.

    Raises: RequestError; `done` is not called then.
    """
    topic = metadata.catalogue.by_name.get(AUDIT_TOPIC)
    if topic is None or not topic.recorded:
        if metadata.nodes.is_controller:
            create_if_missing(metadata, loop)
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {AUDIT_TOPIC} yet")
    partition = metadata.topics.partition(topic, 0)
    vnode, stream_id = partition.vnode, partition.stream_id
    try:
        header = check_batch(data, size_limit_bytes=BATCH_BYTES_MAX)
        stamp = ProducerStamp(
            header.producer_id, header.producer_epoch, header.base_sequence, header.record_count, False
        )
        # One that is there may still be on its way to the disk, with the newest version at most.
        if not isinstance(vnode.log.producers(stream_id).check(stamp), Duplicate):
            vnode.last_version = vnode.log.append(stream_id, data, producer=stamp, reserved=True).version
    except BatchRefused as error:
        raise RequestError(code_of(error.error_code), str(error)) from error
    except ProducerError as error:
        raise RequestError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, str(error)) from error
    except (WalError, DiskError) as error:
        raise storage_error(error) from error
    vnode.wait_durable(vnode.last_version, _Waiter(done), loop.clock.turn_ms)


def create_if_missing(metadata: Metadata, loop: Loop) -> None:
    """Create the topic unless that was begun; for the controller.  Raises: RequestError."""
    if AUDIT_TOPIC not in metadata.catalogue.by_name:
        topics, now_ms = metadata.topics, loop.clock.turn_ms
        topics.create(topics.check_new(new_topic(), loop.clock.wall_ms(now_ms)), now_ms)


def records_of(batch: Batch) -> list[Record]:
    """Return the records of a batch of events, whose lines were made."""
    assert batch.lines is not None, "the lines were made before"
    times = (event["time_ms"] for event in batch.events)
    return [
        Record(number, time_ms, None, line.rstrip(b"\n"))
        for number, (time_ms, line) in enumerate(zip(times, batch.lines, strict=True))
    ]


class _Waiter:
    """Passes on the outcome of an append."""

    __slots__ = ("_done",)

    def __init__(self, done: Callable[[ErrorCode | None], None]) -> None:
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Pass it on."""
        self._done(error)


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
