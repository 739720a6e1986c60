"""The tags of partitions' keys, shared by all views that read the same columns of the same partition.

The tags learnt from a record depend only on the columns that a view reads (a record that does not fit them
teaches none): a thousand views `STABLE meters WHERE city = '…'` learn once and keep one table, which is freed
with the last of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.storage.partition import Partition
    from broker.view_topics.inherited_tags import InheritedTags
    from views.key_room import KeyRoom
    from views.partition_tags import PartitionTags
    from views.plan import Plan


class SharedTags:
    """The tags of keys that one broker's views have learnt."""

    def __init__(self, room: Callable[[], KeyRoom]) -> None:
        """`room()` returns what bounds the memory of them all, once there are any."""
        self._room = room
        self._known: WeakValueDictionary[Any, PartitionTags] = WeakValueDictionary()
        self._inherited: WeakValueDictionary[Any, InheritedTags] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, stream_id: int, plan: Plan) -> PartitionTags:
        """Return the tags of a partition for a view of that plan; the caller keeps them."""
        from views.partition_tags import PartitionTags

        key = stream_id, plan.uses, plan.record_bytes_max
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = PartitionTags(room=self._room())
        return found

    def inherited(self, source: Topic, plan: Plan, partition_of: Callable[[int], Partition]) -> InheritedTags:
        """Return the tags that keys brought along when the topic grew; the caller keeps them."""
        from broker.view_topics.inherited_tags import InheritedTags

        key = source.topic_id, plan.uses, plan.record_bytes_max
        found = self._inherited.get(key)
        if found is None:
            found = self._inherited[key] = InheritedTags(source, partition_of, self._room())
        return found
