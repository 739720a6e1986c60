"""The tree of a topic whose partitions split: which partition takes a key, and which ones came before it.

    h = murmur2(key) without its sign, as Kafka's clients hash; a topic begins with n partitions, its roots
    root = h mod n             the partition that those clients choose, as long as nothing has split
    place = h div n            the place of the key in its root's range, which splits divide

A split is in place: partition P keeps its number and the places below `bound`; a new partition takes those
from `bound` on. What P has before the offset `cut` was written for both:

    P [0, cut)      the inactive parent: read before the child
    P [cut, ...)    active, the left half
    child [0, ...)  active, the right half

Splits are facts of the catalogue; nothing here is ever taken back but one that was not durable.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from protocol.partitioner import murmur2

HASH_MASK: Final = 0x7FFF_FFFF
"""Kafka's clients take the sign off before they divide."""

PLACES_END: Final = HASH_MASK + 1

NO_KEY: Final = -1
"""The hash of a record without a key, which stays in the partition that its producer has chosen."""


class Split(NamedTuple):
    """One split: from `cut` on the parent no longer gets what lies from `bound` on; the child gets it."""

    parent: int
    child: int
    cut: int
    """The offset in the parent before which both halves were written to it."""
    bound: int
    """The first place of the child's range."""
    at_ms: int
    """The time of day."""


class Range(NamedTuple):
    """The places of a partition, from `low` to before `high`, below one root."""

    root: int
    low: int
    high: int

    @property
    def can_split(self) -> bool:
        """Whether there is a place to divide it at."""
        return self.high - self.low > 1


KEPT_KEYS: Final = 16_384
KEPT_BYTES_MAX: Final = 64
"""The hashes that are kept, of keys up to this size: 3 MB at most. Making one takes ten times as long."""


def hash_of(key: bytes) -> int:
    """Return the hash of a key, or of a producer's name, as the tree divides it."""
    return _kept_hash(key) if len(key) <= KEPT_BYTES_MAX else murmur2(key) & HASH_MASK


@lru_cache(KEPT_KEYS)
def _kept_hash(key: bytes) -> int:
    return murmur2(key) & HASH_MASK


class PartitionTree:
    """The splits of one topic."""

    __slots__ = ("_bounds", "_leaves", "_root_of", "pending", "root_count", "splits")

    def __init__(self, root_count: int, splits: Sequence[Split] = ()) -> None:
        self.root_count = root_count
        self.splits: list[Split] = []
        self.pending: Split | None = None
        """A split that is on its way to the disk; until it is there, nothing is written to the topic."""
        # Of each root: where its ranges begin, and the partition of each range.
        self._bounds: list[list[int]] = [[0] for _ in range(root_count)]
        self._leaves: list[list[int]] = [[root] for root in range(root_count)]
        self._root_of: dict[int, int] = {}
        for split in splits:
            self.apply(split)

    def apply(self, split: Split) -> None:
        """Take in a split that is durable."""
        found = self.range_of(split.parent)
        assert found.low < split.bound < found.high, f"{split} is outside of {found}"
        bounds, leaves = self._bounds[found.root], self._leaves[found.root]
        at = bisect_right(bounds, split.bound)
        bounds.insert(at, split.bound)
        leaves.insert(at, split.child)
        self._root_of[split.child] = found.root
        self.splits.append(split)

    def root_of(self, partition: int) -> int:
        """Return the partition that one goes back to."""
        return self._root_of.get(partition, partition)

    def leaf(self, root: int, hashed: int) -> int:
        """Return the partition, below a root, that takes a hash."""
        bounds = self._bounds[root]
        if len(bounds) == 1:
            return root
        return self._leaves[root][bisect_right(bounds, hashed // self.root_count) - 1]

    def of(self, hashed: int) -> int:
        """Return the partition that takes a key of this hash."""
        return self.leaf(hashed % self.root_count, hashed)

    def place(self, hashed: int) -> int:
        """Return the place of a hash in its root's range."""
        return hashed // self.root_count

    def range_of(self, partition: int) -> Range:
        """Return the places that a partition takes now."""
        root = self.root_of(partition)
        bounds, at = self._bounds[root], self._leaves[root].index(partition)
        end = PLACES_END // self.root_count + 1
        return Range(root, bounds[at], bounds[at + 1] if at + 1 < len(bounds) else end)

    def made_by(self, partition: int) -> Split | None:
        """Return the split that made a partition; None for a root."""
        at = partition - self.root_count
        return self.splits[at] if at >= 0 else None

    def children_of(self, partition: int) -> Iterator[Split]:
        """Yield the splits of a partition, the first one first."""
        return (split for split in self.splits if split.parent == partition)
