"""The catalogue with its log and its vnodes: how topics are made, grown, changed and removed for good.

    append      the record joins the `meta` WAL's open frame, the catalogue plans the change
    durable     the change is confirmed, then whoever asked for it is answered (`when_durable`)
    failed      the change is undone, newest first, and whoever asked for it gets the error

The records and the streams of a topic lie in different logs, so their order is what a crash leaves whole:
a topic is used only when its record is durable, and its streams are dropped only when its deletion is.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.catalogue.catalogue_changes import CatalogueChanges
from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
    encode_record,
)
from broker.catalogue.live_config import LiveConfig
from broker.catalogue.topic_admin import NewTopic, new_topic_record
from broker.catalogue.topic_configs import effective
from broker.catalogue.topics import Catalogue, Change, Topic
from broker.config.kawal_topic_keys import QUARANTINE_KEY
from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError, storage_error
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError
from wal.store import Store

if TYPE_CHECKING:
    from random import Random

logger = logging.getLogger("kawal.broker")


class RecordedWaiter:
    """Runs `done(error)` when a change of the catalogue is on the disk, and told where it is to be told."""

    __slots__ = ("_changes", "_done")

    def __init__(self, changes: CatalogueChanges, done: Callable[[ErrorCode | None], None]) -> None:
        self._changes = changes
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Pass on what became of the change."""
        if error is not None:
            self._done(error)
        else:
            self._changes.when_durable(lambda: self._done(None), now_ms)


class TopicDirectory:
    """All topics of the node, over the store that keeps them."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        config: LiveConfig,
        meta: Vnode,
        random: Random,
        store: Store,
        vnodes: dict[str, list[Vnode]],
    ) -> None:
        self._catalogue = catalogue
        self._config = config
        self._meta = meta
        self._random = random
        self._store = store
        self._vnodes = vnodes
        # What the wall clock is ahead of `now_ms`.
        self.wall_offset_ms = 0
        # Changes that are not durable yet, oldest first, each with what is to be done when it is.
        self._planned: deque[tuple[int, Change, CatalogueRecord]] = deque()
        # Told of every change that has become durable, and when.
        self.listener: Callable[[CatalogueRecord, int], None] | None = None
        # Tells of changes of topics in the logs of their database.
        self.changes = CatalogueChanges(catalogue, vnodes)
        # Makes the partitions of views.
        self.open_view: Callable[[Topic, int], Partition] = _no_views
        # Streams of deleted topics that a log has refused to drop so far.
        self._undropped: list[tuple[Vnode, int]] = []

    def wall_ms(self, now_ms: int) -> int:
        """The time of day at a monotonic moment."""
        return now_ms + self.wall_offset_ms

    def append(
        self, record: CatalogueRecord, now_ms: int, *, confirmed: Callable[[], None] | None = None
    ) -> None:
        """Record and plan a change of the catalogue; `confirmed` is called once it is durable.

        Raises:
            RequestError: KAFKA_STORAGE_ERROR; nothing has changed.
        """
        try:
            version = self._store.catalogue.append(encode_record(record))
        except (WalError, DiskError) as error:
            raise storage_error(error) from error
        self._meta.last_version = version
        change = self._catalogue.plan(record)
        if confirmed is not None:
            change = Change(_both(change.confirm, confirmed), change.undo)
        self._planned.append((version, change, record))
        self._meta.wait_durable(version, self, now_ms)

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Settle the planned changes: those on the disk are confirmed, those lost are undone."""
        planned = self._planned
        if error is not None:
            while planned:
                planned.pop()[1].undo()
            return
        while planned and planned[0][0] < self._meta.log.next_version:
            _, change, record = planned.popleft()
            change.confirm()
            self.changes.confirmed(record, self.wall_ms(now_ms))
            if self.listener is not None:
                self.listener(record, now_ms)

    def when_durable(self, done: Callable[[ErrorCode | None], None], now_ms: int) -> None:
        """Call `done(error)` when every change made so far is on the disk."""
        self._meta.wait_durable(self._meta.last_version, RecordedWaiter(self.changes, done), now_ms)

    def partition(self, topic: Topic, index: int) -> Partition:
        """A partition of the topic.

        Raises:
            RequestError: UNKNOWN_TOPIC_OR_PARTITION, the topic has no such partition.
        """
        found = topic.partitions.get(index)
        if found is None:
            if not 0 <= index < topic.partition_count:
                raise RequestError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"topic {topic.name!r} has no partition {index}: it has {topic.partition_count}",
                )
            found = topic.partitions[index] = self._open(topic, index)
        return found

    def _open(self, topic: Topic, index: int) -> Partition:
        if topic.view is not None:
            return self.open_view(topic, index)
        vnodes = self._vnodes[topic.database]
        return Partition(topic, index, vnodes[(topic.first_vnode + index) % len(vnodes)])

    def settings(self, topic: Topic) -> TopicSettings:
        """The topic's effective configs, computed at their first use after a change."""
        if topic.settings is None:
            defaults = self._catalogue.topic_defaults(topic)
            topic.settings = effective(topic.configs, self._config.current, defaults)
        return topic.settings

    def check_new(self, new: NewTopic, wall_ms: int) -> TopicCreated:
        """The record that would create the topic.

        Raises: RequestError, as `new_topic_record` and `quarantine_record`.
        """
        record = new_topic_record(
            new,
            catalogue=self._catalogue,
            config=self._config.current,
            random=self._random,
            wall_ms=wall_ms,
        )
        self.quarantine(record, "", wall_ms)
        return record

    def quarantine(self, source: TopicCreated, before: str, wall_ms: int) -> TopicCreated | None:
        """As `quarantine_record`; most topics name none."""
        if QUARANTINE_KEY.name not in source.configs:
            return None
        from broker.catalogue.quarantine import quarantine_record

        return quarantine_record(
            source,
            before,
            catalogue=self._catalogue,
            config=self._config.current,
            random=self._random,
            wall_ms=wall_ms,
        )

    def create(self, record: TopicCreated, now_ms: int) -> Topic:
        """Create the topic that `check_new` allowed just now, and its quarantine in the same frame.

        Raises: RequestError as `append`.
        """
        quarantine = self.quarantine(record, "", self.wall_ms(now_ms))
        self.append(record, now_ms)
        if quarantine is not None:
            self.append(quarantine, now_ms)
        return self._catalogue.by_name[record.name]

    def change_configs(self, topic: Topic, configs: dict[str, str], now_ms: int) -> None:
        """Make these (checked) configs the topic's own.  Raises: RequestError as `append`."""
        self.append(TopicConfigs(topic_id=topic.topic_id.hex, configs=configs), now_ms)

    def delete(self, topic: Topic, now_ms: int) -> list[int]:
        """Remove the topic; its streams are dropped once that is durable.

        Returns the keys under which fetches on its partitions wait (`Partition.wait_key`).

        The catalogue is the authority: streams that a crash kept from being dropped are dropped at the next
        start, because no topic owns them.
        Raises: RequestError as `append`.
        """
        record = TopicDeleted(topic_id=topic.topic_id.hex, name=topic.name)

        def gone() -> None:
            self.changes.deleted(topic, self.wall_ms(now_ms))
            self._drop_streams(topic)

        self.append(record, now_ms, confirmed=gone)
        if topic.view is not None:
            from broker.catalogue.quarantine import unset_record

            if (unset := unset_record(topic, self._catalogue)) is not None:
                self.append(unset, now_ms)
        if topic.view is not None:
            return [partition.wait_key for partition in topic.partitions.values()]
        return list(topic.stream_ids())

    def _drop_streams(self, topic: Topic) -> None:
        if topic.view is not None:
            return
        vnodes = self._vnodes[topic.database]
        for index, stream_id in enumerate(topic.stream_ids()):
            self._undropped.append((vnodes[(topic.first_vnode + index) % len(vnodes)], stream_id))
        self.drop_again()

    def drop_again(self) -> None:
        """Drop the streams of deleted topics that their logs still hold, as far as the logs take it."""
        waiting, self._undropped = self._undropped, []
        for vnode, stream_id in waiting:
            if stream_id not in vnode.log.streams():
                continue
            try:
                vnode.log.drop_stream(stream_id)
            except WalError as error:
                logger.warning("stream %d of a deleted topic is dropped later: %s", stream_id, error)
            self._undropped.append((vnode, stream_id))

    def forget_vnodes(self, vnodes: list[Vnode]) -> None:
        """Drop no more streams of these vnodes: they go as a whole."""
        self._undropped = [(vnode, stream_id) for vnode, stream_id in self._undropped if vnode not in vnodes]
        self.changes.forget(vnodes)

    def drop_orphans(self) -> int:
        """Drop the streams that no topic owns, as a crash between two logs may leave; how many there were."""
        owned = {stream_id for topic in self._catalogue.by_id.values() for stream_id in topic.stream_ids()}
        self._undropped = [
            (vnode, stream_id)
            for vnodes in self._vnodes.values()
            for vnode in vnodes
            for stream_id in vnode.log.streams()
            if stream_id not in owned
        ]
        count = len(self._undropped)
        self.drop_again()
        return count


def _both(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        first()
        second()

    return run


def _no_views(topic: Topic, index: int) -> Partition:
    raise AssertionError(f"nobody opens views, as for {topic.name}-{index}")
