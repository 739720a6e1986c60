"""The facts about topics whose partitions split that gates (groups/split_gates.py) need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from groups.partition_tree import PartitionTree, Split


class SplitTopic(Protocol):
    """A topic with splits."""

    @property
    def tree(self) -> PartitionTree | None:
        """Its partitions and what they came from."""


class SplitFacts(Protocol):
    """The facts about topics with splits that gates need; the broker provides them."""

    @property
    def topics(self) -> Mapping[str, SplitTopic]:
        """The topics that have splits, by name."""

    def is_read(self, topic: str, split: Split, position: int | None) -> bool:
        """Whether nothing is left before a split for a group at that position, if any, in the parent."""

    def is_forced(self, topic: str, split: Split) -> bool:
        """Whether the child is given out whatever was read (kawal.split.gate.max.wait.ms)."""

    def log_start(self, topic: str, partition: int) -> int:
        """Return the first offset of a partition."""

    def share_position(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return the first offset that a share group has not done with; None if it has no state there."""

    def shares_from_end(self, group_id: str) -> bool:
        """Whether a new share group begins with new records."""


class NoSplits:
    """The facts of a coordinator without topics that split."""

    topics: Mapping[str, SplitTopic] = {}

    def is_read(self, topic: str, split: Split, position: int | None) -> bool:
        """Return True: nothing is ever withheld."""
        return True

    def is_forced(self, topic: str, split: Split) -> bool:
        """Return True."""
        return True

    def log_start(self, topic: str, partition: int) -> int:
        """Return 0."""
        return 0

    def share_position(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return None."""
        return None

    def shares_from_end(self, group_id: str) -> bool:
        """Return False."""
        return False


NO_SPLITS: Final = NoSplits()
