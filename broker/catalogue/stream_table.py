"""The table of all streams: which topic and partition a stream id belongs to.

The streams of partitions that were made together have consecutive ids, so the table has a row for each such
run.  A change of a topic changes its own rows only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, Protocol, TypeVar


class Owner(Protocol):
    """A topic, as far as its streams go."""

    ranges: list[tuple[int, int]]
    """The first partition and first stream of each run."""
    planned_count: int

    @property
    def view(self) -> object | None:
        """Its definition, if it is a view."""

    def stream_id(self, partition_index: int) -> int:
        """Return the stream of a partition."""


OwnerT = TypeVar("OwnerT", bound=Owner)


class StreamTable(Generic[OwnerT]):
    """The runs of streams, sorted by their first id."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._runs: list[tuple[OwnerT, int]] = []
        """The topic and first partition of each run."""

    def add(self, topic: OwnerT) -> None:
        """Add all runs of a topic; a view has no streams."""
        if topic.view is None:
            for first_partition, first_stream in topic.ranges:
                self.add_run(topic, first_partition, first_stream)

    def add_run(self, topic: OwnerT, first_partition: int, first_stream: int) -> None:
        """Add a run of partitions; new ones have the highest ids, so this is usually an append."""
        place = bisect_left(self._starts, first_stream)
        self._starts.insert(place, first_stream)
        self._runs.insert(place, (topic, first_partition))

    def remove(self, topic: OwnerT) -> None:
        """Remove all runs of a topic."""
        if topic.view is None:
            for _, first_stream in topic.ranges:
                self.remove_run(first_stream)

    def remove_run(self, first_stream: int) -> None:
        """Remove the run that begins with this stream."""
        place = bisect_left(self._starts, first_stream)
        assert self._starts[place] == first_stream
        del self._starts[place], self._runs[place]

    def find(self, stream_id: int) -> tuple[OwnerT, int] | None:
        """Return the topic and partition of a stream, planned ones too; None when no topic owns it."""
        place = bisect_right(self._starts, stream_id) - 1
        if place < 0:
            return None
        topic, first_partition = self._runs[place]
        index = first_partition + stream_id - self._starts[place]
        # The run ends where the topic's next one begins.
        if index < topic.planned_count and (len(topic.ranges) == 1 or topic.stream_id(index) == stream_id):
            return topic, index
        return None


def runs_of(numbers: list[int]) -> list[tuple[int, int]]:
    """Return sorted numbers as (first, count) of their runs."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and sum(runs[-1]) == number:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs
