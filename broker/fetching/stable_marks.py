"""The last stable offsets that a fetch of committed records has seen, to tell when there are more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker.fetching.fetch_items import FetchItem
from broker.storage.partition import Partition
from protocol.messages.fetch import PartitionData

if TYPE_CHECKING:
    from broker.catalogue.topic_directory import TopicDirectory


class StableMarks:
    """The marks of stored partitions by wait key; of any other, whatever arrives is of use."""

    __slots__ = ("_seen", "_topics")

    def __init__(self, topics: TopicDirectory) -> None:
        self._topics = topics
        self._seen: dict[int, tuple[Partition, int]] = {}

    def add(self, found: Iterable[tuple[FetchItem, PartitionData]]) -> None:
        """Add what was read of some partitions."""
        for item, data in found:
            if item.topic is not None and item.topic.view is None and not data.error_code:
                partition = self._topics.partition(item.topic, item.index)
                self._seen[partition.wait_key] = partition, data.last_stable_offset

    def is_passed(self, key: int) -> bool:
        """Whether more of the partition with this wait key has become stable."""
        seen = self._seen.get(key)
        return seen is None or seen[0].last_stable_offset > seen[1]
