"""A compacted topic that only the server writes: it is made when needed, and takes a batch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.catalogue.topic_admin import NewTopic
from broker.errors import RequestError
from protocol.record_writer import encode_batch
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topic import Topic
    from broker.loop.loop import Loop
    from broker.storage.partition import Partition
    from broker.storage.vnode import Vnode
    from protocol.error_codes import ErrorCode
    from protocol.record_reader import Record


class ServerTopic:
    """One such topic, of one partition."""

    def __init__(self, metadata: Metadata, loop: Loop, name: str) -> None:
        self._metadata = metadata
        self._loop = loop
        self.name = name
        self.is_busy = False
        """Whether a batch is on its way to the disk."""

    @property
    def topic(self) -> Topic | None:
        """The topic, if it is there, its record durable or not."""
        return self._metadata.catalogue.by_name.get(self.name)

    @property
    def partition(self) -> Partition | None:
        """The partition, once it can be written to."""
        topic = self.topic
        return self._metadata.topics.here(topic, 0) if topic is not None and topic.recorded else None

    def create(self, now_ms: int) -> bool:
        """Create the topic; return False where that cannot be done now: the controller alone can do it."""
        if not self._metadata.nodes.is_controller:
            return False
        topics = self._metadata.topics
        new = NewTopic(
            name=self.name,
            partition_count=1,
            replication_factor=1,
            configs={"cleanup.policy": "compact", "kawal.deletion.protected": "true"},
        )
        try:
            topics.create(topics.check_new(new, self._loop.clock.wall_ms(now_ms)), now_ms)
        except (RequestError, WalError, DiskError):
            return False  # the log is damaged or full, which others report
        return True

    def append(
        self, partition: Partition, records: list[Record], done: Callable[[bool], None], now_ms: int
    ) -> None:
        """Append some records as one batch; `done` is called with whether they are durable, or were lost.

        Raises: RequestError, WalError, DiskError: nothing is appended, and `done` is not called.
        """
        vnode = partition.vnode
        vnode.last_version = vnode.log.append(partition.stream_id, encode_batch(records)).version
        self.is_busy = True
        try:
            vnode.wait_durable(vnode.last_version, _Waiter(self, done), now_ms)
        except Exception:
            self.is_busy = False  # nothing will say what became of it
            raise


class _Waiter:
    """Passes on the outcome of an append."""

    __slots__ = ("_done", "_topic")

    def __init__(self, topic: ServerTopic, done: Callable[[bool], None]) -> None:
        self._topic = topic
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Pass it on."""
        self._topic.is_busy = False
        self._done(error is None)
