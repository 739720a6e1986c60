"""The internal topic `__kawal_storage_state`: the storage of each log, for any Kafka client to read.

It is compacted by the name of the log (`default/vnode-0`).  A log has a new record when it has another
checkpoint or other files, seen every few seconds: what a record costs does not depend on how much is written.
The value is a JSON object (docs/wal-format.md); that of a log that was removed is null.  It is off unless
kawal.storage.state.topic asks for it, and no client may write it.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic import STORAGE_TOPIC
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from broker.upkeep.server_topic import ServerTopic
from protocol.record_reader import Record
from wal.disk import DiskError
from wal.errors import WalError
from wal.storage_state import storage_state, storage_version

INTERVAL_MS: Final = 5_000
"""The time between two looks; each costs 1 µs for a log in which nothing has changed."""

LOGS_PER_BATCH: Final = 100
"""The logs told at once, at 0.1 ms; further ones have their turn at the next look."""

Told = dict[str, tuple[int, ...]]
"""What was told of each log, by its name; () of one that was removed."""


class StorageTopic:
    """Tells of the logs for as long as the broker lives."""

    def __init__(self, metadata: Metadata, loop: Loop, vnodes: Vnodes) -> None:
        self._loop = loop
        self._vnodes = vnodes
        self._topic = ServerTopic(metadata, loop, STORAGE_TOPIC)
        self._told: Told = {}
        self._schedule(loop.clock.turn_ms)

    def _schedule(self, now_ms: int) -> None:
        self._loop.timers.add(now_ms + INTERVAL_MS, self._look)

    def _look(self, now_ms: int) -> None:
        self._schedule(now_ms)
        if self._loop.stopping or self._topic.is_busy:
            return
        if self._topic.topic is None:
            self._topic.create(now_ms)
            return
        try:
            if (partition := self._topic.partition) is not None:
                self._tell(partition, now_ms)
        except (RequestError, WalError, DiskError):
            return  # the log is damaged or full, which others report: it is tried again

    def _tell(self, partition: Partition, now_ms: int) -> None:
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
        self._topic.append(partition, records, partial(self._appended, telling), now_ms)

    def _appended(self, telling: Told, is_durable: bool) -> None:
        """Learn that a batch is durable, or was lost: then it is made again at the next look."""
        if not is_durable:
            return
        self._told.update(telling)
        for name in [name for name, version in self._told.items() if version == ()]:
            del self._told[name]


def _value(vnode: Vnode | None, wall_ms: int) -> bytes | None:
    if vnode is None:
        return None
    return json.dumps({"log": vnode.name, "time_ms": wall_ms, **storage_state(vnode.log)}).encode()
