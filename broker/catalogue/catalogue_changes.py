"""Changes of topics in the logs of their database, among the records, for views WITH META.

    the catalogue's record is durable --> an entry in every vnode of the database --> durable --> answer

So a change that was answered is in the logs; one that a crash kept from being answered may be missing.
Entries are meta entries: they take one version each and no offset of any stream.  They are written in every
database but `default`, and there as long as a view shows them.

    payload := JSON {"type": create | grow | alter | drop | delete, "topic", "id", "time", ...}
    create, grow, alter also have "partitions" and "configs", kawal.columns among them
    grow by a split also has "split": the "parent", the "child" that it got, and the "cut", an offset in it
    delete has "partition" and "before": a client has deleted the records below that offset.  It is written on
    the partition's vnode only
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    PartitionsAdded,
    PartitionSplit,
    PartitionsRenewed,
    TopicConfigs,
    TopicCreated,
)
from broker.catalogue.databases import DEFAULT_DATABASE
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.topics import Catalogue, Topic
    from broker.storage.partition import Partition
    from broker.storage.vnode import Vnode
    from protocol.error_codes import ErrorCode
    from wal.versions import VersionedEntry

logger = logging.getLogger("kawal.broker")

CHANGES_STREAM: Final = (1 << 62) + 1
"""The stream id under which changes are appended; no topic ever gets it."""

KIND_HEADER: Final = ("kawal.kind", b"meta")


_KINDS: Final[dict[type, str]] = {
    TopicCreated: "create",
    PartitionsAdded: "grow",
    PartitionSplit: "grow",
    PartitionsRenewed: "grow",
    TopicConfigs: "alter",
}


class CatalogueChanges:
    """The writer of changes into the logs, which knows those that are not durable yet."""

    def __init__(self, catalogue: Catalogue, vnodes: Mapping[str, list[Vnode]]) -> None:
        self._catalogue = catalogue
        self._vnodes = vnodes
        # The last version appended to each vnode, as far as an answer may have to wait for it.
        self._written: dict[Vnode, int] = {}

    def confirmed(self, record: CatalogueRecord, wall_ms: int) -> None:
        """Write the change of a topic that a durable record of the catalogue makes, if any."""
        if type(record) not in _KINDS:
            return
        assert isinstance(
            record, TopicCreated | PartitionsAdded | PartitionSplit | PartitionsRenewed | TopicConfigs
        )
        topic = self._catalogue.by_id.get(UUID(hex=record.topic_id))
        # Of a topic that is being deleted only that change is written.
        if topic is not None and topic.view is None:
            self._write(_KINDS[type(record)], topic, wall_ms, _split(record))

    def deleted(self, topic: Topic, wall_ms: int) -> None:
        """Write the deletion of a topic, which is durable."""
        if topic.view is None:
            self._write("drop", topic, wall_ms)

    def records_deleted(self, partition: Partition, before: int, wall_ms: int) -> None:
        """Write that a client has deleted a partition's records below an offset, after that itself."""
        topic = partition.topic
        if not topic.internal and self._wanted(topic.database):
            told = {"partition": partition.index, "before": before}
            self._append(partition.vnode, "delete", topic, _payload("delete", topic, wall_ms, told))

    def _write(
        self, kind: str, topic: Topic, wall_ms: int, more: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        if topic.internal or not self._wanted(topic.database):
            return
        told: dict[str, Any] = {}
        if kind != "drop":
            told = {"partitions": topic.partition_count, "configs": topic.configs, **more}
        payload = _payload(kind, topic, wall_ms, told)
        for vnode in self._vnodes[topic.database]:
            if self._append(vnode, kind, topic, payload):
                self._written[vnode] = vnode.last_version

    def _append(self, vnode: Vnode, kind: str, topic: Topic, payload: bytes) -> bool:
        """Append a change to one log; return False, and say so, if that cannot be."""
        try:
            vnode.last_version = max(vnode.last_version, vnode.log.append_meta(CHANGES_STREAM, payload))
        except WalError as error:
            logger.warning(
                "%s of topic %r is not written on vnode %s: %s", kind, topic.name, vnode.name, error
            )
            return False
        return True

    def _wanted(self, database: str) -> bool:
        return database != DEFAULT_DATABASE or self._catalogue.meta_views[database] > 0

    def when_durable(self, done: Callable[[], None], now_ms: int) -> None:
        """Call `done` when every change written so far is on the disk, or lost with its log."""
        # Versions above a vnode's last one were lost with its log.
        waiting = {
            vnode: version
            for vnode, version in self._written.items()
            if vnode.log.next_version <= version <= vnode.last_version
        }
        self._written = waiting
        if not waiting:
            done()
            return
        waiter = _Countdown(len(waiting), done)
        for vnode, version in waiting.items():
            vnode.wait_durable(version, waiter, now_ms)

    def forget(self, vnodes: list[Vnode]) -> None:
        """Forget the changes on these vnodes, which are dropped."""
        for vnode in vnodes:
            self._written.pop(vnode, None)


def _split(
    record: TopicCreated | PartitionsAdded | PartitionSplit | PartitionsRenewed | TopicConfigs,
) -> Mapping[str, Any]:
    if isinstance(record, PartitionsRenewed):
        return {"renewed": {"first": record.growth.first_partition, "cuts": record.cuts}}
    if not isinstance(record, PartitionSplit):
        return {}
    return {"split": {"parent": record.parent, "child": record.growth.first_partition, "cut": record.cut}}


def _payload(kind: str, topic: Topic, wall_ms: int, more: Mapping[str, Any]) -> bytes:
    told = {"type": kind, "topic": topic.name, "id": topic.topic_id.hex, "time": wall_ms, **more}
    return json.dumps(told, separators=(",", ":")).encode()


class _Countdown:
    """A waiter that calls `done` after `count` answers."""

    __slots__ = ("_done", "_left")

    def __init__(self, count: int, done: Callable[[], None]) -> None:
        self._left = count
        self._done = done

    def appended(self, _vnode: Vnode, _error: ErrorCode | None, _now_ms: int) -> None:
        """Count one answer, success or not: the change itself is in the catalogue."""
        self._left -= 1
        if not self._left:
            self._done()


def change_batch(entry: VersionedEntry, topic_id: str | None = None) -> bytearray | None:
    """Return the record of a change: its topic as key, its JSON as value, at its version.

    With the id of a topic, None for changes of other topics.
    """
    payload = entry.opaque
    if payload is None:
        return None
    told = json.loads(bytes(payload))
    if topic_id is not None and told["id"] != topic_id:
        return None
    record = Record(entry.version, told["time"], told["topic"].encode(), bytes(payload), (KIND_HEADER,))
    return encode_batch([record], leader_epoch=0)
