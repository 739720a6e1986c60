"""The memory of committed offsets, of all groups and with what transactions have staged, and its limit.

A client may name as many groups as it likes, and commit an offset of each of them in every partition.  While
there is no room (`kawal.offsets.max.bytes`), an offset of a partition in which its group has none yet is
refused with COORDINATOR_NOT_AVAILABLE, as is one with longer metadata: clients try again, and there may be
room then.  Groups go on where they have an offset already.  Offsets that are stored are loaded, however many
they are.

What a transaction stages takes memory beside the offset that it may replace, and many transactions may stage
one of the same partition.  It has the room that is left, or a part of the whole to itself (`STAGED_SHARE`):
groups that commit in transactions go on, too.

Kafka has no such limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groups.offsets import OffsetTable, weight_of

if TYPE_CHECKING:
    from groups.record_keys import OffsetKey
    from groups.staged_offsets import StagedOffsets


STAGED_SHARE: Final = 0.125
"""The part of the memory that what is staged may take beyond the rest."""


class OffsetRoom:
    """The memory of all offsets."""

    __slots__ = ("_offsets", "_staged", "refused")

    def __init__(self, offsets: OffsetTable, staged: StagedOffsets) -> None:
        self._offsets = offsets
        self._staged = staged
        self.refused = 0
        """The offsets that were refused so far for lack of memory."""

    @property
    def size_bytes(self) -> int:
        """The memory of all offsets, those of open transactions included."""
        return self._offsets.size_bytes + self._staged.size_bytes

    def has_to_stage(self, added_bytes: int, limit_bytes: int) -> bool:
        """Whether there is room for so much more of what transactions stage."""
        if added_bytes <= 0 or self.size_bytes + added_bytes <= limit_bytes:
            return True
        if self._staged.size_bytes + added_bytes <= STAGED_SHARE * limit_bytes:
            return True
        self.refused += 1
        return False

    def has(self, key: OffsetKey, value: bytes, limit_bytes: int) -> bool:
        """Whether there is room for an offset, or it takes no more than the one that it replaces."""
        added_bytes = weight_of(value) - weight_of(self._offsets.newest(key))
        if added_bytes <= 0 or self.size_bytes + added_bytes <= limit_bytes:
            return True
        self.refused += 1
        return False
