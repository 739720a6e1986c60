"""Offsets of groups in topics that were deleted: out of sight, and not deleted from the log yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groups.record_keys import OffsetKey


class HiddenOffsets:
    """Offsets of one group in one topic, by partition: values of their records."""

    __slots__ = ("group_id", "on_their_way", "topic", "values")

    def __init__(
        self, group_id: str, topic: str, values: dict[int, bytes], on_their_way: dict[int, bytes]
    ) -> None:
        self.group_id = group_id
        self.topic = topic
        self.values = values
        """Those that were durable: they are in no table any more."""
        self.on_their_way = on_their_way
        """Those whose record was written and not durable: they come into the table when it is."""

    def __len__(self) -> int:
        return len(self.values) + len(self.on_their_way)

    def take(self, at_most: int) -> HiddenOffsets:
        """Return so many of them, and keep the others."""
        part = HiddenOffsets(self.group_id, self.topic, {}, {})
        for whole, some in ((self.values, part.values), (self.on_their_way, part.on_their_way)):
            for _ in range(min(len(whole), at_most - len(part))):
                partition, value = whole.popitem()
                some[partition] = value
        return part


class SetAside:
    """The same in partitions of __consumer_offsets that are being loaded: nothing is deleted there yet."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: dict[int, dict[tuple[str, str], HiddenOffsets]] = {}
        """By partition, group and topic."""

    def _part(self, home: int, group_id: str, topic: str) -> HiddenOffsets:
        parts = self.parts.setdefault(home, {})
        part = parts.get((group_id, topic))
        if part is None:
            part = parts[group_id, topic] = HiddenOffsets(group_id, topic, {}, {})
        return part

    def put(self, home: int, key: OffsetKey, value: bytes) -> bytes | None:
        """Add an offset of a group in this partition; return the one that it replaces."""
        values = self._part(home, key.group_id, key.topic).values
        before = values.get(key.partition)
        values[key.partition] = value
        return before

    def add(self, home: int, part: HiddenOffsets) -> None:
        """Add several offsets, none of which is here."""
        whole = self._part(home, part.group_id, part.topic)
        whole.values.update(part.values)
        whole.on_their_way.update(part.on_their_way)

    def pop(self, home: int, key: OffsetKey) -> bytes | None:
        """Remove an offset after which another was written, and return it."""
        parts = self.parts.get(home, {})
        part = parts.get((key.group_id, key.topic))
        if part is None:
            return None
        value = part.values.pop(key.partition, None)
        if not part:
            del parts[key.group_id, key.topic]
        if not parts:
            del self.parts[home]
        return value

    def take(self, home: int) -> Iterable[HiddenOffsets]:
        """Remove and return those of a partition."""
        return self.parts.pop(home, {}).values()


class StagedKeys:
    """The offsets that transactions had staged in a topic when it was deleted."""

    __slots__ = ("keys", "mark")

    def __init__(self, keys: Iterator[OffsetKey], mark: int) -> None:
        self.keys = keys
        self.mark = mark
        """The number of all that was staged until then."""
