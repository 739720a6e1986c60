"""The producer table as the checkpoint keeps it: columns, cheap to fill on the loop and to encode elsewhere.

    snapshot := counts columns                       little endian, like all of our own bytes
    counts   := format:u32 streams:u32 producers:u32 aborted:u32 state_bytes:u64
    columns, one after the other:
        stream_id u64[streams]  its producers u32[streams]  its aborted transactions u32[streams]
        producer_id i64[producers]  size of its state u16[producers]
        producer_id, first_offset, last_offset, last_stable_offset of the aborted, i64[aborted] each
        states, joined (see wal.stream_producers)

Its integrity is the checkpoint's business; sizes that do not fit together are refused all the same.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wal.stream_producers import BATCH_BYTES, STATE_BYTES
from wal.transactions import AbortedTransaction

_FORMAT = 1
_COUNTS = struct.Struct("<IIIIQ")
_COLUMN_TYPES = "QIIqHqqqq"
assert [array(code).itemsize for code in "QIH"] == [8, 4, 2], "the columns have fixed widths"


class ProducerSnapshot(NamedTuple):
    """The columns; `states` are the packed values in the order of `producer_ids`."""

    stream_ids: array[int]
    producer_counts: array[int]
    aborted_counts: array[int]
    producer_ids: array[int]
    state_sizes: array[int]
    aborted_producer_ids: array[int]
    aborted_first_offsets: array[int]
    aborted_last_offsets: array[int]
    aborted_stable_offsets: array[int]
    states: list[bytes]

    @classmethod
    def empty(cls) -> ProducerSnapshot:
        """A snapshot of nothing, to be filled."""
        return cls._make([*(array(code) for code in _COLUMN_TYPES), []])

    def add(
        self, stream_id: int, states: Mapping[int, bytes], aborted: tuple[array[int], ...] | None
    ) -> None:
        """Add a stream: its producers in order of their last batch, its aborted transactions by columns."""
        self.stream_ids.append(stream_id)
        self.producer_counts.append(len(states))
        self.aborted_counts.append(len(aborted[0]) if aborted else 0)
        self.producer_ids.extend(states)
        self.state_sizes.extend(map(len, states.values()))
        self.states.extend(states.values())
        if aborted:
            for column, more in zip(self[5:9], aborted, strict=True):
                assert isinstance(column, array)
                column.extend(more)

    def streams(self) -> Iterator[tuple[int, list[tuple[int, bytes]], list[AbortedTransaction]]]:
        """Each stream: its id, its producers with their states, its aborted transactions."""
        producers = zip(self.producer_ids, self.states, strict=True)
        aborted = map(AbortedTransaction, *self[5:9])
        for stream_id, producer_count, aborted_count in zip(*self[:3], strict=True):
            yield (
                stream_id,
                [next(producers) for _ in range(producer_count)],
                [next(aborted) for _ in range(aborted_count)],
            )


def encode(snapshot: ProducerSnapshot) -> bytes:
    """The bytes of a snapshot."""
    states = b"".join(snapshot.states)
    counts = _COUNTS.pack(
        _FORMAT,
        len(snapshot.stream_ids),
        len(snapshot.producer_ids),
        len(snapshot.aborted_producer_ids),
        len(states),
    )
    return b"".join((counts, *snapshot[:9], states))


def decode(data: bytes | memoryview) -> ProducerSnapshot:
    """The snapshot in these bytes.

    Raises: ValueError when they are none; the table is then rebuilt from the log.
    """
    if len(data) < _COUNTS.size:
        raise ValueError(f"a producer snapshot has {len(data)} bytes, which is less than its counts take")
    layout, streams, producers, aborted, state_bytes = _COUNTS.unpack_from(data)
    lengths = (streams, streams, streams, producers, producers, aborted, aborted, aborted, aborted)
    snapshot = ProducerSnapshot.empty()
    sizes = [length * array(code).itemsize for length, code in zip(lengths, _COLUMN_TYPES, strict=True)]
    if layout != _FORMAT or len(data) != _COUNTS.size + sum(sizes) + state_bytes:
        raise ValueError(
            f"a producer snapshot of format {layout} has {len(data)} bytes, which do not fit its counts"
        )
    position = _COUNTS.size
    for column, size in zip(snapshot[:9], sizes, strict=True):
        assert isinstance(column, array)
        column.frombytes(data[position : position + size])
        position += size
    totals = (sum(snapshot.producer_counts), sum(snapshot.aborted_counts), sum(snapshot.state_sizes))
    if totals != (producers, aborted, state_bytes):
        raise ValueError(
            f"a producer snapshot counts {totals}, but holds {(producers, aborted, state_bytes)}"
        )
    for size in snapshot.state_sizes:
        if size < STATE_BYTES or (size - STATE_BYTES) % BATCH_BYTES:
            raise ValueError(f"a producer snapshot holds a state of {size} bytes, a size that no state has")
        snapshot.states.append(bytes(data[position : position + size]))
        position += size
    return snapshot
