"""The tags of partitions' keys, shared by all views that read the same columns of the same partition.

What a record teaches depends on nothing but the columns that a view reads (one that does not fit them teaches
nothing): a thousand views `STABLE meters WHERE city = '…'` learn once, and keep one table.  It is given back
with the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from views.plan import Plan
    from views.tag_history import PartitionTags


class SharedTags:
    """What one broker's views know of keys."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[Any, PartitionTags] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, stream_id: int, plan: Plan) -> PartitionTags:
        """The tags of a partition for a view of that plan; the caller keeps them."""
        from views.tag_history import PartitionTags

        key = stream_id, plan.uses, plan.record_bytes_max
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = PartitionTags()
        return found
