"""Offsets of a group in a topic that was deleted: out of sight, and not deleted from the log yet."""

from __future__ import annotations

from collections.abc import Iterator

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


class StagedKeys:
    """The offsets that transactions had staged in a topic when it was deleted."""

    __slots__ = ("keys", "mark", "wall_ms")

    def __init__(self, keys: Iterator[OffsetKey], mark: int, wall_ms: int) -> None:
        self.keys = keys
        self.mark = mark
        """The number of all that was staged until then."""
        self.wall_ms = wall_ms
