"""Retention by whole files of a vnode, as TDengine deletes its write-ahead logs.

It applies to databases with `wal.retention.ms` or `wal.retention.bytes`, and in them to topics that delete
and have no `retention.ms` of their own; those with one go by it alone, and their records stay although their
neighbours in the file go.  The oldest closed file of a vnode is let go, and then the next one,

    while the records of these topics on the vnode have more than wal.retention.bytes, or
    while it was closed more than wal.retention.ms ago and, if the database has a `retention.ms` too (KEEP),
          its newest record is older than that; a file is not older than its newest record is, nor than the
          time since this process closed it

by moving the log start of each of their streams to its end in the file.  The file itself goes when no stream
needs it.  The file that is being written is never touched: records are kept at least as long as stated, and
longer where little is written.  What groups hold (retention_holds.py) stays.

Each check looks again at files that still have such records, and never at those that have none any more, so
it costs what is due.  Nothing of this is stored but the log starts: a restart looks once at every closed file
that is due.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NamedTuple

from broker.catalogue.databases import FILES_MS, Database
from broker.storage.partition import Partition

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.loop.clock import Clock
    from broker.storage.vnode import Vnode
    from wal.closed_files import ClosedFile
    from wal.log import VnodeLog

STREAMS_PER_SLICE = 500
"""Streams looked at before other work gets a turn: about 1 ms."""

FILES_BYTES = "wal.retention.bytes"
NO_LIMIT = -1


class FilePolicy(NamedTuple):
    """The limits of a database's files; -1: none."""

    retention_ms: int
    retention_bytes: int
    keep_ms: int | None
    """The database's own `retention.ms`, which the newest record of a file must have reached, too."""

    def is_too_old(self, file: ClosedFile, clock: Clock) -> bool:
        """Return whether the file goes by its age."""
        wall_ms = clock.settled_wall_ms
        age_ms = file.age_ms(wall_ms=wall_ms, now_ms=clock.turn_ms)
        if age_ms is None or not 0 <= self.retention_ms < age_ms:
            return False
        if self.keep_ms is None or file.max_timestamp < 0:
            return True
        return 0 <= self.keep_ms < wall_ms - file.max_timestamp


def policy_of(database: Database) -> FilePolicy | None:
    """Return the policy of a database's files; None if its topics go by their partitions alone."""
    configs = database.configs
    retention_ms, retention_bytes = (int(configs.get(name, NO_LIMIT)) for name in (FILES_MS, FILES_BYTES))
    if retention_ms < 0 and retention_bytes < 0:
        return None
    keep_ms = configs.get("retention.ms")
    return FilePolicy(retention_ms, retention_bytes, None if keep_ms is None else int(keep_ms))


class Emptied(NamedTuple):
    """The streams with records in a file that may go, the size of these records, and how many are held."""

    streams: int
    size_bytes: int
    held: int


class FileRetention:
    """The retention of closed files on all vnodes; it remembers how far each of them is done."""

    def __init__(
        self,
        metadata: Metadata,
        clock: Clock,
        held_from: Callable[[Partition, int], int],
        move: Callable[[Partition, int], None],
    ) -> None:
        """Move log starts of the partitions in `metadata`, none above `held_from(partition, wall_ms)`.

        `move(partition, log_start)` moves one.
        """
        self._metadata = metadata
        self._clock = clock
        self._held_from = held_from
        self._move = move
        self._done: dict[VnodeLog, int] = {}
        """By log, the version up to which no closed file has a record that may go."""

    def forget(self) -> None:
        """Look at every file again: settings of databases or topics have changed."""
        self._done.clear()

    def checked(self, vnode: Vnode) -> Generator[None, None, int]:
        """Let the vnode's oldest files go as far as they are due, in slices.

        Return the number of partitions in them in which a group kept records.  Raises: WalError, DiskError.
        """
        database = self._metadata.catalogue.databases.get(vnode.database)
        policy = policy_of(database) if database is not None else None
        if policy is None:
            return 0
        excess = 0
        if policy.retention_bytes >= 0:
            excess = (yield from self._size_bytes(vnode.log)) - policy.retention_bytes
        version, held, all_done = self._done.get(vnode.log, 0), 0, True
        while (file := next(vnode.log.closed_files(version), None)) is not None:
            if excess <= 0 and not policy.is_too_old(file, self._clock):
                break
            emptied = yield from self._emptied(vnode.log, file)
            excess -= emptied.size_bytes
            held += emptied.held
            version = max(file.next_version, file.base_version + 1)
            # A move may yet be lost with its frame: a file is done when nothing is left to be moved.
            all_done = all_done and not emptied.streams
            if all_done:
                self._done[vnode.log] = version
            yield
        return held

    def _size_bytes(self, log: VnodeLog) -> Generator[None, None, int]:
        """Return the size of the records that go by files."""
        total = 0
        for number, stream_id in enumerate(list(log.streams()), start=1):
            if self._partition_of(stream_id) is not None:
                total += log.stream_size_bytes(stream_id)
            if not number % STREAMS_PER_SLICE:
                yield
        return total

    def _emptied(self, log: VnodeLog, file: ClosedFile) -> Generator[None, None, Emptied]:
        """Move log starts to the end of a file, in slices."""
        streams = size_bytes = held = 0
        for number, (stream_id, end) in enumerate(log.ends_in(file.base_version), start=1):
            partition = self._partition_of(stream_id)
            if partition is not None and partition.log_start < end:
                streams += 1
                size_bytes += log.bytes_between(stream_id, partition.log_start, end)
                limit = min(self._held_from(partition, self._clock.settled_wall_ms), partition.high_watermark)
                held += limit < end
                if limit > partition.log_start:
                    self._move(partition, min(end, limit))
            if not number % STREAMS_PER_SLICE:
                yield
        return Emptied(streams, size_bytes, held)

    def _partition_of(self, stream_id: int) -> Partition | None:
        """Return the partition of a stream whose records go with their files."""
        found = self._metadata.catalogue.streams.find(stream_id)
        if found is None:
            return None
        topic, index = found
        if topic.internal or "retention.ms" in topic.configs or index >= topic.partition_count:
            return None
        if not self._metadata.topics.settings(topic).deletes:
            return None
        return self._metadata.topics.here(topic, index)
