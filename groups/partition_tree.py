"""The tree of a topic whose partitions split: which partition takes a key, and which ones came before it.

    h = murmur2(key) without its sign, as Kafka's clients hash; a topic begins with n partitions, its roots
    root = h mod n             the partition that those clients choose, as long as nothing has split
    place = h div n, read from its lowest bit on: the place of the key below its root, which splits divide

A split is in place: partition P keeps its number and the places below `bound`; a new partition takes those
from `bound` on. What P has before the offset `cut` was written for both:

    P [0, cut)      the inactive parent: read before the child
    P [cut, ...)    active, the left half
    child [0, ...)  active, the right half

A split in the middle divides by the lowest bit that is not decided yet. So when all partitions have been
split so, in their order, the child of p is p + n, and each key lies where a client with murmur2 sends it that
knows of 2n partitions; no batch of such a client has to be divided.

A topic of several partitions that has records before the server chooses partitions is renewed: each partition
gets a successor that takes all of its keys, since those may lie anywhere so far. A successor is a child with
the bound 0, and comes after *all* partitions that there were, up to their cuts.

Splits are facts of the catalogue; nothing here is ever taken back but one that was not durable.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from protocol.partitioner import murmur2, murmur2_of_many

HASH_MASK: Final = 0x7FFF_FFFF
"""Kafka's clients take the sign off before they divide."""

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
    epoch: int = 0
    """The leader epoch that the parent has from then on."""

    @property
    def is_succession(self) -> bool:
        """Whether the child takes all keys of the parent, and comes after the parents of all successors."""
        return not self.bound


class Range(NamedTuple):
    """The places of a partition, from `low` to before `high`, below one root."""

    root: int
    low: int
    high: int

    @property
    def middle(self) -> int:
        """The place at which each half gets as many."""
        return (self.low + self.high) // 2

    @property
    def can_split(self) -> bool:
        """Whether there is a place to divide it at."""
        return self.high - self.low > 1

    @property
    def is_empty(self) -> bool:
        """Whether it takes no keys any more: it has a successor."""
        return self.low == self.high


KEPT_KEYS: Final = 16_384
KEPT_BYTES_MAX: Final = 64
"""The hashes that are kept, of keys up to this size: 3 MB at most. Making one takes seven times as long."""

TABLE_MAX: Final = 4_096
"""The longest table of partitions by hash."""

_REVERSED: Final = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class _Hashes:
    """The hashes that are kept; when there are too many, all are made anew. Threads use it together."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: dict[bytes, int] = {}

    def keep(self, found: dict[bytes, int]) -> None:
        """Keep some more, of short keys."""
        short = {key: hashed for key, hashed in found.items() if len(key) <= KEPT_BYTES_MAX}
        if len(short) > KEPT_KEYS:
            return
        # A new table, not an emptied one: others may be reading this one.
        self.kept = {**self.kept, **short} if len(self.kept) + len(short) <= KEPT_KEYS else short


_hashes: Final = _Hashes()


def hash_of(key: bytes) -> int:
    """Return the hash of a key, or of a producer's name, as the tree divides it."""
    return _kept_hash(key) if len(key) <= KEPT_BYTES_MAX else murmur2(key) & HASH_MASK


@lru_cache(KEPT_KEYS)
def _kept_hash(key: bytes) -> int:
    return murmur2(key) & HASH_MASK


def hashes_of(keys: set[bytes]) -> dict[bytes, int]:
    """Return the hashes of many keys; 0.3 µs for each, 0.05 if it is kept."""
    kept = _hashes.kept
    new = keys.difference(kept)
    made = {key: hashed & HASH_MASK for key, hashed in murmur2_of_many(new).items()}
    if made:
        _hashes.keep(made)
    return made if len(new) == len(keys) else {key: kept[key] for key in keys - new} | made


def _reversed(number: int) -> int:
    """Return 32 bits in the other order."""
    return int.from_bytes(number.to_bytes(4, "little").translate(_REVERSED), "big")


class PartitionTree:
    """The splits of one topic."""

    __slots__ = (
        "_bits",
        "_bounds",
        "_children",
        "_deepest",
        "_epochs",
        "_leaves",
        "_lows",
        "_root_of",
        "_table",
        "in_levels",
        "is_settled",
        "pending",
        "root_count",
        "splits",
        "successions",
    )

    def __init__(self, root_count: int, splits: Sequence[Split] = ()) -> None:
        self.root_count = root_count
        self.in_levels = True
        """Whether partitions were split in their order, and in the middle: all before one is split again."""
        self._bits = (HASH_MASK // root_count).bit_length()
        # The bits of a place that decide, at most.
        self._deepest = 0
        # The partitions of hashes modulo its length, made when needed; if it is empty, the bounds decide.
        self._table: list[int] | None = None
        self.splits: list[Split] = []
        self.successions: list[Split] = []
        """Those of them that gave each root a successor, if any."""
        self.pending: Split | None = None
        """A split that is on its way to the disk; until it is there, nothing is written to the topic."""
        self.is_settled = False
        """Whether what was written before its successions is known to be durable."""
        # Of each root: where its ranges begin, and the partition of each range.
        self._bounds: list[list[int]] = [[0] for _ in range(root_count)]
        self._leaves: list[list[int]] = [[root] for root in range(root_count)]
        self._root_of: dict[int, int] = {}
        # Of each child: the first place that it takes, for its whole life.
        self._lows: dict[int, int] = {}
        self._children: dict[int, list[Split]] = {}
        self._epochs: dict[int, int] = {}
        for split in splits:
            self.apply(split)

    def apply(self, split: Split) -> None:
        """Take in a split that is durable."""
        found = self.range_of(split.parent)
        is_inside = found.low < split.bound < found.high
        is_due = (
            split.is_succession
            and split.parent < self.root_count
            and split.child == self.root_count + split.parent
        )
        assert is_inside or is_due, f"{split} is outside of {found}"
        in_order = split.parent == self.next_of_level and split.bound == found.middle
        self.in_levels = self.in_levels and in_order
        bounds, leaves = self._bounds[found.root], self._leaves[found.root]
        at = bisect_right(bounds, split.bound)
        bounds.insert(at, split.bound)
        leaves.insert(at, split.child)
        self._root_of[split.child] = found.root
        self._lows[split.child] = split.bound
        self._children.setdefault(split.parent, []).append(split)
        self._epochs[split.parent] = split.epoch
        self.splits.append(split)
        if split.is_succession:
            self.successions.append(split)
            self.is_settled = False
        if split.bound:
            lowest_bit = (split.bound & -split.bound).bit_length()
            self._deepest = max(self._deepest, self._bits + 1 - lowest_bit)
        self._table = None

    def root_of(self, partition: int) -> int:
        """Return the partition that one goes back to."""
        return self._root_of.get(partition, partition)

    def epoch_of(self, partition: int) -> int:
        """Return the leader epoch that a partition began with its last split; 0 if it was not split."""
        return self._epochs.get(partition, 0)

    @property
    def divides(self) -> bool:
        """Whether it matters what a key is: there is more than one partition, or is about to be."""
        return self.root_count > 1 or bool(self.splits) or self.pending is not None

    @property
    def places_end(self) -> int:
        """The end of the places below each root."""
        return 1 << self._bits

    @property
    def next_of_level(self) -> int:
        """The partition to be split next, if all are, one after the other."""
        count = self.root_count + len(self.splits)
        return count - (self.root_count << (count // self.root_count).bit_length() - 1)

    def _made_table(self) -> list[int]:
        """Make the partitions of hashes, modulo the table's length; nothing if it would be long."""
        size = self.root_count << self._deepest
        hashes = range(size if size <= TABLE_MAX else 0)
        self._table = [self._found(hashed % self.root_count, hashed) for hashed in hashes]
        return self._table

    def leaf(self, root: int, hashed: int) -> int:
        """Return the partition, below a root, that takes a hash."""
        return root if len(self._bounds[root]) == 1 else self._found(root, hashed)

    def _found(self, root: int, hashed: int) -> int:
        return self._leaves[root][bisect_right(self._bounds[root], self.place(hashed)) - 1]

    def of(self, hashed: int) -> int:
        """Return the partition that takes a key of this hash."""
        table = self._table if self._table is not None else self._made_table()
        if table:
            return table[hashed % len(table)]
        return self.leaf(hashed % self.root_count, hashed)

    def of_many(self, hashes: Iterable[int]) -> list[int]:
        """Return the partitions that take keys of these hashes; 0.04 µs for each."""
        table = self._table if self._table is not None else self._made_table()
        if not table:
            return [self.of(hashed) for hashed in hashes]
        size = len(table)
        return [table[hashed % size] for hashed in hashes]

    def place(self, hashed: int) -> int:
        """Return the place of a hash in its root's range."""
        return _reversed(hashed // self.root_count) >> 32 - self._bits

    def range_of(self, partition: int) -> Range:
        """Return the places that a partition takes now."""
        root = self.root_of(partition)
        bounds, leaves = self._bounds[root], self._leaves[root]
        at = bisect_left(bounds, self._lows.get(partition, 0))
        if leaves[at] != partition:
            at += 1  # the successor of the root that has no places left
        assert leaves[at] == partition, f"partition {partition} is not in the tree"
        return Range(root, bounds[at], bounds[at + 1] if at + 1 < len(bounds) else self.places_end)

    def made_by(self, partition: int) -> Split | None:
        """Return the split that made a partition; None for a root, and for one that is not there."""
        at = partition - self.root_count
        return self.splits[at] if 0 <= at < len(self.splits) else None

    def children_of(self, partition: int) -> Iterator[Split]:
        """Yield the splits of a partition, the first one first."""
        return iter(self._children.get(partition, ()))
