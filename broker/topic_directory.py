"""The catalogue with its log and its vnodes: how topics are made, grown, changed and removed for good.

A change is applied at once and recorded in the `meta` WAL; the answer to whoever asked for it leaves when the
record is durable (`when_durable`).  Should the record be lost with the machine before that, nobody was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from broker.catalogue_records import CatalogueRecord, TopicConfigs, TopicCreated, TopicDeleted, encode_record
from broker.config import Config
from broker.errors import RequestError, storage_error
from broker.partition import Partition
from broker.topic_admin import NewTopic, new_topic_record
from broker.topic_configs import TopicSettings, effective
from broker.topics import Catalogue, Topic
from broker.vnode import Vnode
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError
from wal.store import Store

if TYPE_CHECKING:
    from random import Random


class RecordedWaiter:
    """Runs `done(error)` when a change of the catalogue is on the disk."""

    __slots__ = ("_done",)

    def __init__(self, done: Callable[[ErrorCode | None], None]) -> None:
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Pass on what became of the change."""
        self._done(error)


class TopicDirectory:
    """All topics of the node, over the store that keeps them."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        config: Config,
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

    def append(self, records: Iterable[CatalogueRecord]) -> None:
        """Record and apply changes of the catalogue.

        Raises:
            RequestError: KAFKA_STORAGE_ERROR; the records before the refused one are applied.
        """
        for record in records:
            try:
                self._meta.last_version = self._store.catalogue.append(encode_record(record))
            except (WalError, DiskError) as error:
                raise storage_error(error) from error
            self._catalogue.replay(record)

    def when_durable(self, done: Callable[[ErrorCode | None], None], now_ms: int) -> None:
        """Call `done(error)` when every change made so far is on the disk."""
        self._meta.wait_durable(self._meta.last_version, RecordedWaiter(done), now_ms)

    def partition(self, topic: Topic, index: int) -> Partition:
        """A partition of the topic.

        Raises:
            RequestError: UNKNOWN_TOPIC_OR_PARTITION, the topic has no such partition.
        """
        found = topic.partitions.get(index)
        if found is None:
            if not 0 <= index < topic.partition_count:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            vnodes = self._vnodes[topic.database]
            vnode = vnodes[(topic.first_vnode + index) % len(vnodes)]
            found = topic.partitions[index] = Partition(topic, index, vnode)
        return found

    def settings(self, topic: Topic) -> TopicSettings:
        """The topic's effective configs, computed at their first use after a change."""
        if topic.settings is None:
            topic.settings = effective(topic.configs, self._config)
        return topic.settings

    def check_new(self, new: NewTopic, wall_ms: int) -> TopicCreated:
        """The record that would create the topic.  Raises: RequestError, as `new_topic_record`."""
        return new_topic_record(
            new,
            catalogue=self._catalogue,
            config=self._config,
            random=self._random,
            vnode_count=len(self._vnodes["default"]),
            wall_ms=wall_ms,
        )

    def create(self, record: TopicCreated) -> Topic:
        """Create the topic that `check_new` allowed just now.  Raises: RequestError as `append`."""
        self.append([record])
        return self._catalogue.by_name[record.name]

    def change_configs(self, topic: Topic, configs: dict[str, str]) -> None:
        """Make these (checked) configs the topic's own.  Raises: RequestError as `append`."""
        self.append([TopicConfigs(topic_id=topic.topic_id.hex, configs=configs)])

    def delete(self, topic: Topic) -> list[int]:
        """Remove the topic and drop its streams, whose ids are returned.

        The catalogue is the authority: streams that a crash kept from being dropped are dropped at the next
        start, because no topic owns them.
        Raises: RequestError as `append`.
        """
        stream_ids = list(topic.stream_ids())
        self.append([TopicDeleted(topic_id=topic.topic_id.hex)])
        vnodes = self._vnodes[topic.database]
        for index, stream_id in enumerate(stream_ids):
            log = vnodes[(topic.first_vnode + index) % len(vnodes)].log
            log.drop_stream(stream_id)
        return stream_ids

    def drop_orphans(self) -> int:
        """Drop the streams that no topic owns, as a crash between two logs may leave; how many there were."""
        owned = {stream_id for topic in self._catalogue.by_id.values() for stream_id in topic.stream_ids()}
        count = 0
        for vnodes in self._vnodes.values():
            for vnode in vnodes:
                for stream_id in [item for item in vnode.log.streams() if item not in owned]:
                    vnode.log.drop_stream(stream_id)
                    count += 1
        return count
