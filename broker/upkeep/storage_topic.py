"""The internal topic `__kawal_storage_state`: the storage of each log, for any Kafka client to read.

It is compacted by the name of the log (`default/vnode-0`).  A log has a new record when it has another
checkpoint or other files, seen every few seconds: what a record costs does not depend on how much is written.
The value is a JSON object (docs/wal-format.md); that of a log that was removed is null.  It is off unless
kawal.storage.state.topic asks for it, and no client may write it.

Of several nodes the leader of the topic tells of all logs.  It asks the others for those that have changed.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic import STORAGE_TOPIC
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.storage.partition import Partition
from broker.storage.vnodes import Vnodes
from broker.upkeep import own_logs
from broker.upkeep.asked_nodes import AskedNodes
from broker.upkeep.own_logs import Version, changed_logs, value_of
from broker.upkeep.server_topic import ServerTopic
from protocol.messages.kawal_storage import KawalStorageRequest, KawalStorageResponse, KnownLog
from protocol.record_reader import Record
from wal.disk import DiskError
from wal.errors import WalError

INTERVAL_MS: Final = 5_000
"""The time between two looks; each costs 1 µs for a log in which nothing has changed."""

Told = dict[str, Version]
"""What was told of each log, by its name; () of one that was removed."""


class Elsewhere(NamedTuple):
    """A log that another node leads."""

    node_id: int
    version: Version
    state: bytes


class StorageTopic:
    """Tells of the logs for as long as the broker lives."""

    def __init__(self, metadata: Metadata, loop: Loop, vnodes: Vnodes) -> None:
        self._metadata = metadata
        self._loop = loop
        self._vnodes = vnodes
        self._topic = ServerTopic(metadata, loop, STORAGE_TOPIC)
        self._told: Told = {}
        self._elsewhere: dict[str, Elsewhere] = {}
        self._others = AskedNodes(metadata, loop, self._request_for, self._take)
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
                self._others.ask()
                self._tell(partition, now_ms)
        except (RequestError, WalError, DiskError):
            return  # the log is damaged or full, which others report: it is tried again

    def _request_for(self, node_id: int) -> KawalStorageRequest:
        known = [
            KnownLog(name=name, version=list(log.version))
            for name, log in self._elsewhere.items()
            if log.node_id == node_id
        ]
        return KawalStorageRequest(known=known)

    def _take(self, node_id: int, answer: KawalStorageResponse) -> None:
        """Learn of another node's logs."""
        for log in answer.logs:
            self._elsewhere[log.name] = Elsewhere(node_id, tuple(log.version), bytes(log.state))

    def _exists(self, name: str) -> bool:
        """Whether there is a log of this name."""
        if name == self._vnodes.meta.name:
            return True
        database, _, index = name.rpartition("/vnode-")
        found = self._metadata.catalogue.databases.get(database)
        return found is not None and int(index) < found.vnode_count

    def _tell(self, partition: Partition, now_ms: int) -> None:
        logs = own_logs.own_logs(self._metadata, self._vnodes)
        self._elsewhere = {name: log for name, log in self._elsewhere.items() if self._exists(name)}
        due, _ = changed_logs(logs, self._told)
        for name, log in self._elsewhere.items():
            if log.version != self._told.get(name):
                due[name] = log.version
        due.update((name, ()) for name in self._told.keys() - logs.keys() - self._elsewhere.keys())
        telling = dict(list(due.items())[: own_logs.LOGS_PER_BATCH])
        if not telling:
            return
        wall_ms = self._loop.clock.wall_ms(now_ms)

        def value(name: str) -> bytes | None:
            if name in logs:
                return value_of(logs[name], wall_ms, self._metadata.nodes)
            return self._elsewhere[name].state if name in self._elsewhere else None

        records = [Record(offset, wall_ms, name.encode(), value(name)) for offset, name in enumerate(telling)]
        self._topic.append(partition, records, partial(self._appended, telling), now_ms)

    def _appended(self, telling: Told, is_durable: bool) -> None:
        """Learn that a batch is durable, or was lost: then it is made again at the next look."""
        if not is_durable:
            return
        self._told.update(telling)
        for name, log in self._elsewhere.items():
            if log.version == telling.get(name):
                self._elsewhere[name] = log._replace(state=b"")  # it is in the topic
        for name in [name for name, version in self._told.items() if version == ()]:
            del self._told[name]
