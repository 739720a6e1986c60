"""The internal topic `__kawal_storage_state`: the storage of each log, for any Kafka client to read.

It is compacted by the name of the log (`default/vnode-0`).  A log has a new record when it has another
checkpoint or other files, seen every few seconds: what a record costs does not depend on how much is written.
The value is a JSON object (docs/wal-format.md); that of a log that was removed is null.  It is off unless
kawal.storage.state.topic asks for it, and no client may write it.
"""

from __future__ import annotations

import json
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic import STORAGE_TOPIC, Topic
from broker.catalogue.topic_admin import NewTopic
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from wal.disk import DiskError
from wal.errors import WalError
from wal.storage_state import storage_state, storage_version

INTERVAL_MS: Final = 5_000
"""The time between two looks; each costs 1 µs for a log in which nothing has changed."""

LOGS_PER_BATCH: Final = 100
"""The logs told at once, at 0.1 ms; further ones have their turn at the next look."""

Told = dict[str, tuple[int, ...]]
"""What was told of each log, by its name."""


class StorageTopic:
    """Tells of the logs for as long as the broker lives."""

    def __init__(self, metadata: Metadata, loop: Loop, vnodes: Vnodes) -> None:
        self._metadata = metadata
        self._loop = loop
        self._vnodes = vnodes
        self._told: Told = {}
        self._telling: Told = {}
        """What the batch on its way to the disk tells; () of a log that was removed."""
        self._schedule(loop.clock.turn_ms)

    def _schedule(self, now_ms: int) -> None:
        self._loop.timers.add(now_ms + INTERVAL_MS, self._look)

    def _look(self, now_ms: int) -> None:
        self._schedule(now_ms)
        topic = self._metadata.catalogue.by_name.get(STORAGE_TOPIC)
        if self._loop.stopping or self._telling or (topic is not None and not topic.recorded):
            return
        try:
            if topic is None:
                topics = self._metadata.topics
                topics.create(topics.check_new(new_topic(), self._loop.clock.wall_ms(now_ms)), now_ms)
            else:
                self._tell(topic, now_ms)
        except (RequestError, WalError, DiskError):
            return  # the log is damaged or full, which others report: it is tried again

    def _tell(self, topic: Topic, now_ms: int) -> None:
        logs = {vnode.name: vnode for vnode in self._vnodes.every}
        changed = {
            name: version
            for name, vnode in logs.items()
            if (version := storage_version(vnode.log)) != self._told.get(name)
        }
        changed.update((name, ()) for name in self._told.keys() - logs.keys())
        telling = dict(list(changed.items())[:LOGS_PER_BATCH])
        if not telling:
            return
        wall_ms = self._loop.clock.wall_ms(now_ms)
        records = [
            Record(offset, wall_ms, name.encode(), _value(logs.get(name), wall_ms))
            for offset, name in enumerate(telling)
        ]
        partition = self._metadata.topics.partition(topic, 0)
        vnode = partition.vnode
        vnode.last_version = vnode.log.append(partition.stream_id, encode_batch(records)).version
        self._telling = telling
        try:
            vnode.wait_durable(vnode.last_version, self, now_ms)
        except Exception:
            self._telling = {}  # nothing will say what became of it
            raise

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Learn that a batch is durable, or was lost: then it is made again at the next look."""
        if error is None:
            self._told.update(self._telling)
            for name in [name for name, version in self._told.items() if version == ()]:
                del self._told[name]
        self._telling = {}


def _value(vnode: Vnode | None, wall_ms: int) -> bytes | None:
    if vnode is None:
        return None
    return json.dumps({"log": vnode.name, "time_ms": wall_ms, **storage_state(vnode.log)}).encode()


def new_topic() -> NewTopic:
    """Return the topic as it is made."""
    return NewTopic(
        name=STORAGE_TOPIC,
        partition_count=1,
        replication_factor=1,
        configs={"cleanup.policy": "compact", "kawal.deletion.protected": "true"},
    )
