"""The share-partitions by where their states are stored, by group and by topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from groups.share.state_records import ShareKey


class Indexed(Protocol):
    """A share-partition, as far as it is found by its names."""

    @property
    def key(self) -> ShareKey:
        """Its name."""

    @property
    def home(self) -> int:
        """The partition of __share_group_state that holds it."""

    @property
    def is_kept(self) -> bool:
        """Whether another node serves it."""


ShareT = TypeVar("ShareT", bound=Indexed)


class ShareIndex(Generic[ShareT]):
    """All share-partitions of a table; what is asked for is found without a look at the others."""

    __slots__ = ("_by_group", "_by_home", "_by_topic")

    def __init__(self) -> None:
        self._by_home: dict[int, dict[ShareKey, ShareT]] = {}
        self._by_group: dict[str, dict[ShareKey, None]] = {}
        self._by_topic: dict[UUID, dict[ShareKey, ShareT]] = {}

    def add(self, share: ShareT) -> None:
        """Add a share-partition that is not there."""
        key = share.key
        self._by_home.setdefault(share.home, {})[key] = share
        self._by_topic.setdefault(key.topic_id, {})[key] = share
        if not share.is_kept:
            self._by_group.setdefault(key.group_id, {})[key] = None

    def remove(self, share: ShareT) -> None:
        """Remove one that is there."""
        key = share.key
        del self._by_home[share.home][key]
        of_topic = self._by_topic[key.topic_id]
        del of_topic[key]
        if not of_topic:
            del self._by_topic[key.topic_id]
        of_group = self._by_group.get(key.group_id, {})
        of_group.pop(key, None)
        if not of_group:
            self._by_group.pop(key.group_id, None)

    def of_partition(self, partition: int) -> list[ShareT]:
        """Return those that a partition of __share_group_state holds."""
        return list(self._by_home.get(partition, {}).values())

    def of_group(self, group_id: str) -> list[ShareKey]:
        """Return those of a group but for kept ones."""
        return list(self._by_group.get(group_id, ()))

    def has_group(self, group_id: str) -> bool:
        """Whether a group has any but kept ones."""
        return group_id in self._by_group

    @property
    def topic_count(self) -> int:
        """The number of topics that have some."""
        return len(self._by_topic)

    def tables(self) -> Iterator[dict[Any, Any]]:
        """Yield what holds them, to be emptied when they are of no use any more."""
        yield from (self._by_home, self._by_group, self._by_topic)

    def of_topics_without(self, known: Mapping[UUID, object]) -> Iterator[ShareT]:
        """Yield those of topics that are not among these; they may be removed meanwhile."""
        for topic_id in set(self._by_topic).difference(known):
            yield from list(self._by_topic[topic_id].values())
