"""Records on their way to the partitions that have their keys, in topics whose partitions split.

A producer sends a batch to a partition of its choice; the server knows better (groups/partition_tree.py):

    kawal.dedup=seqno, producer-bind     below the root on which the producer's name is bound, by its name
    kawal.dedup=seqno                    by the producer's name
    else                                 by the record's key
    no key                               it stays where it was sent

Records that belong elsewhere are moved there, as batches of their own in the same frame of the log: a crash
keeps all of them or none. The batch of an idempotent producer stays, without them, where it was sent, even if
nothing is left of it: there its sequence numbers go on, and a repetition is found, whatever splits meanwhile.
So moved batches need no sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker.config.topic_settings import TopicSettings
from broker.storage.inspection import Keys
from broker.storage.partition import Partition
from groups.partition_tree import PartitionTree, hash_of

Moved = tuple[tuple[int, tuple[int, ...]], ...]
"""The records, by index in the batch, that go to each of some partitions."""


class Router(NamedTuple):
    """A topic's tree, and the way to its partitions."""

    tree: PartitionTree
    partition: Callable[[int], Partition]
    settings: TopicSettings
    closed: Partition | None = None
    """The closed partition that the batch was sent to, whose successor takes it (closed.py)."""

    def of_name(self, name: bytes, chosen: int, bound: int | None) -> int:
        """Return the partition of a named producer, which has sent to `chosen` and is bound to `bound`."""
        hashed = hash_of(name)
        if not self.settings.binds:
            return self.tree.of(hashed)
        return self.tree.leaf(self.tree.root_of(chosen if bound is None else bound), hashed)


def moved_by_key(keys: Keys, chosen: int, tree: PartitionTree) -> Moved:
    """Return the records of a batch that do not stay in the partition to which it was sent."""
    homes = tree.of_many(keys.hashes.values())
    if homes.count(chosen) == len(homes):
        return ()
    away = {key: home for key, home in zip(keys.hashes, homes, strict=True) if home != chosen}
    found: dict[int, list[int]] = {}
    for index, key in enumerate(keys.of_records):
        if key in away:
            found.setdefault(away[key], []).append(index)
    return as_moved(found)


def as_moved(found: dict[int, list[int]]) -> Moved:
    """Return the records by partition, in order."""
    return tuple((target, tuple(sorted(indexes))) for target, indexes in sorted(found.items()))


def targets_by_key(keys: Keys, tree: PartitionTree) -> set[int]:
    """Return the partitions that the records of a batch belong to; none for those without a key."""
    return set(tree.of_many(keys.hashes.values()))
