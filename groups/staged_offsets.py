"""Offsets that transactions have committed, until the transactions themselves are.

    stage      a transaction's offset is written; fetches do not see it, and stable ones are refused
    end        the transaction's marker: a commit makes its offsets the groups' progress, an abort drops them
    supersede  a later commit outside of transactions, or a deletion, takes the place of what is staged

Where several transactions have staged an offset of one partition, that which was staged last counts, whatever
the order of their ends.  Source: KIP-98, KIP-447; Kafka 4.3's OffsetMetadataManager.
"""

from __future__ import annotations

from collections.abc import Iterator

from groups.effects import Stamp, Undo
from groups.record_keys import OffsetKey

_Offsets = dict[OffsetKey, bytes]


class StagedOffsets:
    """The offsets of open transactions, by partition of __consumer_offsets and producer."""

    __slots__ = ("_by_key", "_open")

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], tuple[Stamp, _Offsets]] = {}
        # The producers that have staged an offset, in the order in which they did.
        self._by_key: dict[OffsetKey, dict[int, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def stage(self, partition: int, stamp: Stamp, key: OffsetKey, value: bytes) -> Undo:
        """Note an offset of a transaction."""
        place = (partition, stamp.producer_id)
        offsets = self._open[place][1] if place in self._open else {}
        self._open[place] = (stamp, offsets)
        before = offsets.get(key)
        offsets[key] = value
        producers = self._by_key.setdefault(key, {})
        order = list(producers)
        producers.pop(stamp.producer_id, None)
        producers[stamp.producer_id] = None

        def undo() -> None:
            if before is None:
                self._drop(place, key)
            elif place in self._open:
                self._open[place][1][key] = before
                self._by_key[key] = dict.fromkeys(order)

        return undo

    def _drop(self, place: tuple[int, int], key: OffsetKey) -> None:
        stamp_and_offsets = self._open.get(place)
        if stamp_and_offsets is not None and stamp_and_offsets[1].pop(key, None) is not None:
            self._forget_producer(key, place[1])
            if not stamp_and_offsets[1]:
                del self._open[place]

    def _forget_producer(self, key: OffsetKey, producer_id: int) -> None:
        producers = self._by_key[key]
        del producers[producer_id]
        if not producers:
            del self._by_key[key]

    def end(self, partition: int, producer_id: int, *, commit: bool) -> list[tuple[OffsetKey, bytes]]:
        """End a producer's transaction; return the offsets that now count."""
        _, offsets = self._open.pop((partition, producer_id), (None, {}))
        for key in offsets:
            older = list(self._by_key[key])
            self._forget_producer(key, producer_id)
            if commit:
                for other in older[: older.index(producer_id)]:
                    self._drop((partition, other), key)
        return list(offsets.items()) if commit else []

    def supersede(self, partition: int, key: OffsetKey) -> None:
        """Drop what transactions have staged for a key: something later takes its place."""
        for producer_id in tuple(self._by_key.get(key, ())):
            self._drop((partition, producer_id), key)

    def is_staged(self, key: OffsetKey) -> bool:
        """Whether a transaction that is open has an offset for the key."""
        return key in self._by_key

    def holds(self, group_id: str) -> bool:
        """Whether an open transaction has an offset of the group."""
        return bool(self._by_key) and any(key.group_id == group_id for key in self._by_key)

    def keys(self, *, group_id: str | None = None, topic: str | None = None) -> list[OffsetKey]:
        """Return the staged partitions of one group, one topic, or both."""
        return sorted(
            key for key in self._by_key if group_id in (None, key.group_id) and topic in (None, key.topic)
        )

    def drop_partition(self, partition: int) -> None:
        """Forget the transactions in a partition that is unloaded."""
        for place in [place for place in self._open if place[0] == partition]:
            for key in tuple(self._open[place][1]):
                self._drop(place, key)

    def of_partition(self, partition: int) -> Iterator[tuple[Stamp, list[tuple[OffsetKey, bytes]]]]:
        """Yield what each producer has staged in a partition, as it is when it is yielded."""
        for place in [place for place in self._open if place[0] == partition]:
            if place in self._open:
                stamp, offsets = self._open[place]
                yield stamp, list(offsets.items())
