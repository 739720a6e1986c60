"""Offsets that transactions have committed, until the transactions themselves are.

    stage      a transaction's offset is written; fetches do not see it, and stable ones are refused
    close      the transaction's marker is written: what is staged from now on is of the producer's next one
    ended      the marker is durable: its offsets are the progress of their groups now, or are dropped
    supersede  a later commit outside of transactions, or a deletion, takes the place of what is staged

Each step is that of a record, taken when the record is written, in the order of the log: it must not matter
that several are on their way to the disk. Its undo takes it back, the newest step first.

Where several transactions have staged an offset of one partition, that which was staged last counts, whatever
the order of their ends.  Source: KIP-98, KIP-447; Kafka 4.3's OffsetMetadataManager.

The end of a LARGE transaction takes long, and is carried out in slices once its marker is durable.  Until a
slice has come to it, an offset stays staged, of a transaction that is closed: a later commit supersedes it as
any other, and one that was staged before it, and ends meanwhile, does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from groups.effects import Stamp, Undo
from groups.key_index import KeyIndex
from groups.record_keys import OffsetKey
from groups.staged_transaction import Closed, Count, EncodedOffset, Place, StagedTransaction

STAGED_BYTES: Final = 900
"""The memory of a staged offset beyond its value: its places in four dicts, of which one is its own and two
may be (measured: 650 to 950)."""

LARGE: Final = 200
"""The offsets of a transaction from which on its end is carried out in slices: each takes 5 to 15 µs."""

TRANSACTIONS_PER_KEY_MAX: Final = 100
"""The transactions that may have staged an offset of one partition of a group at a time: when one of them
ends, each of the others is looked at.  A group that reads a partition once has one."""


class StagedOffsets:
    """The offsets of open transactions, by partition of __consumer_offsets and producer."""

    __slots__ = ("_by_key", "_closed", "_ending", "_index", "_number", "_open", "size_bytes")

    def __init__(self) -> None:
        self._number = 0
        self.size_bytes = 0
        """The memory of what open transactions have staged."""
        self._open: dict[Place, StagedTransaction] = {}
        # Large ones whose marker is written, in the order of their markers.
        self._closed: dict[StagedTransaction, None] = {}
        # The transactions that have staged an offset, in the order in which they did.
        self._by_key: dict[OffsetKey, dict[StagedTransaction, None]] = {}
        # The offsets of transactions whose marker is written and not durable yet.
        self._ending: Counter[OffsetKey] = Counter()
        # All keys of these two.
        self._index = KeyIndex()

    def __bool__(self) -> bool:
        return bool(self._by_key or self._ending)

    def added_bytes(self, partition: int, stamp: Stamp, key: OffsetKey, value: bytes) -> int:
        """Return the memory that staging an offset would add."""
        transaction = self._open.get((partition, stamp.producer_id))
        before = None if transaction is None else transaction.offsets.get(key)
        return STAGED_BYTES + len(value) if before is None else len(value) - len(before[1])

    def may_stage(self, partition: int, stamp: Stamp, key: OffsetKey) -> bool:
        """Whether the transaction is among those that may stage an offset of the key."""
        others = self._by_key.get(key, ())
        return (
            len(others) < TRANSACTIONS_PER_KEY_MAX or self._open.get((partition, stamp.producer_id)) in others
        )

    def stage(self, partition: int, stamp: Stamp, key: OffsetKey, value: bytes) -> Undo:
        """Note an offset of a transaction."""
        place = (partition, stamp.producer_id)
        transaction = self._open.get(place)
        if transaction is None:
            transaction = self._open[place] = StagedTransaction(place, stamp)
        transaction.stamp = stamp
        before = transaction.offsets.get(key)
        transactions = self._by_key.setdefault(key, {})
        order = list(transactions)
        transactions.pop(transaction, None)
        transactions[transaction] = None
        self._number += 1
        self._put(transaction, key, (self._number, value))

        def undo() -> None:
            if key not in transaction.offsets:
                return
            self._drop(transaction, key)
            if before is not None:
                self._put_back(transaction, key, before, order)

        return undo

    def _put(self, transaction: StagedTransaction, key: OffsetKey, value: tuple[int, bytes]) -> None:
        before = transaction.offsets.get(key)
        if before is not None:
            self.size_bytes -= STAGED_BYTES + len(before[1])
        self._index.add(key)
        transaction.offsets[key] = value
        self.size_bytes += STAGED_BYTES + len(value[1])

    def _drop(self, transaction: StagedTransaction, key: OffsetKey) -> Undo:
        value = transaction.offsets.pop(key)
        self.size_bytes -= STAGED_BYTES + len(value[1])
        transactions = self._by_key[key]
        order = list(transactions)
        del transactions[transaction]
        if not transactions:
            del self._by_key[key]
            self._forget_if_unused(key)
        if not transaction.offsets and self._open.get(transaction.place) is transaction:
            del self._open[transaction.place]
        return lambda: self._put_back(transaction, key, value, order)

    def _put_back(
        self,
        transaction: StagedTransaction,
        key: OffsetKey,
        value: tuple[int, bytes],
        order: list[StagedTransaction],
    ) -> None:
        newer = order[order.index(transaction) + 1 :]
        if any(other.closed and other.commit and key not in other.offsets for other in newer):
            return  # what was staged after it counts by now
        if transaction.count is not None:
            transaction.count(key, value[1])
            return
        self._put(transaction, key, value)
        if not transaction.closed:
            self._open[transaction.place] = transaction
        self._by_key[key] = {other: None for other in order if key in other.offsets}

    def close(self, partition: int, producer_id: int, *, commit: bool) -> Closed:
        """End a producer's transaction; `ended` must be called once, with what is returned.

        If it is large, `count_some` comes next, until there is nothing more.
        """
        transaction = self._open.get((partition, producer_id))
        if transaction is None:
            return Closed([], [], [])
        if len(transaction.offsets) >= LARGE:
            return self._close_large(transaction, commit=commit)
        keys: list[OffsetKey] = []
        counting: list[EncodedOffset] = []
        undo: list[Undo] = []
        for key, (_, value) in list(transaction.offsets.items()):
            if commit:
                others = list(self._by_key[key])
                place = others.index(transaction)
                undo += [self._drop(older, key) for older in others[:place]]
                if not any(newer.closed and newer.commit for newer in others[place + 1 :]):
                    counting.append((key, value))
            keys.append(key)
            self._ending[key] += 1
            undo.append(self._drop(transaction, key))
        return Closed(keys, counting, undo)

    def _close_large(self, transaction: StagedTransaction, *, commit: bool) -> Closed:
        del self._open[transaction.place]
        transaction.closed, transaction.commit = True, commit
        self._closed[transaction] = None

        def undo() -> None:
            transaction.closed = False
            del self._closed[transaction]
            if transaction.offsets:
                self._open[transaction.place] = transaction

        closed = Closed([], [], [undo])
        closed.large = transaction
        return closed

    def count_some(self, closed: Closed, at_most: int, count: Count) -> bool:
        """Take some offsets of a large transaction whose marker is durable; return whether that was all.

        Those that count are given to `count`.  Of several transactions in a partition the one that was closed
        first goes first: until it is done, the others take none.
        """
        transaction = closed.large
        if transaction is None or transaction not in self._closed:
            return True
        partition = transaction.place[0]
        if next(other for other in self._closed if other.place[0] == partition) is not transaction:
            return False
        keys = list(islice(closed.left, at_most))
        if not keys:
            closed.left = iter(list(transaction.offsets))
        for key in keys:
            if key in transaction.offsets:
                self._take(transaction, key, count)
        if not transaction.offsets:
            del self._closed[transaction]
            transaction.count = count if transaction.commit else _forget
            return True
        return False

    def _take(self, transaction: StagedTransaction, key: OffsetKey, count: Count) -> None:
        value = transaction.offsets[key][1]
        if transaction.commit:
            others = list(self._by_key[key])
            for older in others[: others.index(transaction)]:
                self._drop(older, key)
        self._drop(transaction, key)
        if transaction.commit:
            count(key, value)

    def is_closing(self, partition: int) -> bool:
        """Whether offsets of a partition are still taken from a transaction that has ended."""
        return any(transaction.place[0] == partition for transaction in self._closed)

    def ended(self, closed: Closed) -> None:
        """Note that the marker of a transaction is durable, or was not stored and is undone."""
        for key in closed.keys:
            self._ending[key] -= 1
            if not self._ending[key]:
                del self._ending[key]
                self._forget_if_unused(key)

    def _forget_if_unused(self, key: OffsetKey) -> None:
        if not self.is_staged(key):
            self._index.remove(key)

    def supersede(self, key: OffsetKey) -> list[Undo]:
        """Drop what transactions have staged for a key: something later takes its place."""
        return [self._drop(transaction, key) for transaction in tuple(self._by_key.get(key, ()))]

    def is_staged(self, key: OffsetKey) -> bool:
        """Whether a transaction has an offset for the key that may come to count."""
        return key in self._by_key or key in self._ending

    @property
    def number(self) -> int:
        """The number of what was staged last: later ones are greater."""
        return self._number

    def newest(self, key: OffsetKey) -> tuple[int, bytes] | None:
        """Return what was staged last for a key, if anything is: its number and its value."""
        transactions = self._by_key.get(key)
        return next(reversed(transactions)).offsets[key] if transactions else None

    def of_topic(self, topic: str) -> tuple[OffsetKey, ...]:
        """Return the partitions of a topic for which something is staged, or ends, as it was staged first."""
        return tuple(self._index.of_topic(topic))

    def holds(self, group_id: str) -> bool:
        """Whether a transaction has an offset of the group that may come to count."""
        return bool(self._index.of_group(group_id))

    def keys(self, *, group_id: str | None = None, topic: str | None = None) -> list[OffsetKey]:
        """Return the staged partitions of one group, one topic, both, or all."""
        if group_id is None:
            found = {*self._by_key, *self._ending} if topic is None else self._index.of_topic(topic)
            return sorted(found)
        return sorted(key for key in self._index.of_group(group_id) if topic in (None, key.topic))

    def each_of_group(self, group_id: str) -> Iterator[OffsetKey]:
        """Yield the staged partitions of one group as they are now, in any order."""
        return iter(tuple(self._index.of_group(group_id)))

    def tables(self) -> Iterator[dict[Any, Any]]:
        """Yield what holds all this, to be emptied when it is of no use any more."""
        yield from (self._open, self._closed, self._by_key, self._ending)

    def drop_partition(self, partition: int) -> None:
        """Forget the transactions in a partition that is unloaded."""
        for transaction in (*self._open.values(), *self._closed):
            if transaction.place[0] == partition:
                for key in tuple(transaction.offsets):
                    self._drop(transaction, key)
                self._closed.pop(transaction, None)

    def of_partition(
        self, partition: int, at_most: int
    ) -> Iterator[tuple[Stamp, list[tuple[OffsetKey, bytes]]]]:
        """Yield what open transactions have staged in a partition, so many at a time, in their order.

        What has ended, or was staged again, since the first step is left out.
        """
        entries = sorted(
            (number, key, transaction)
            for transaction in self._open.values()
            if transaction.place[0] == partition
            for key, (number, _) in transaction.offsets.items()
        )
        position = 0
        while position < len(entries):
            transaction, part = entries[position][2], list[tuple[OffsetKey, bytes]]()
            while position < len(entries) and entries[position][2] is transaction and len(part) < at_most:
                number, key, _ = entries[position]
                found = transaction.offsets.get(key)
                if found is not None and found[0] == number:
                    part.append((key, found[1]))
                position += 1
            if part:
                yield transaction.stamp, part


def _forget(_key: OffsetKey, _value: bytes) -> None:
    """Let nothing count: the transaction was aborted."""
