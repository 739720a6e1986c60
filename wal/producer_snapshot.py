"""The producer table for the checkpoint: captured in slices, turned into columns in another thread.

    snapshot := counts columns                       little endian, like all of our own bytes
    counts   := format:u32 streams:u32 producers:u32 aborted:u32 state_bytes:u64
    columns  := stream_id u64[streams]  producer count u32[streams]  aborted count u32[streams]
                producer_id i64[producers]  state size u16[producers]
                producer_id i64[aborted]  first_offset i64[aborted]
                last_offset i64[aborted]  last_stable_offset i64[aborted]
                states u8[state_bytes]           joined (see wal.stream_producers)

The checkpoint guards its integrity; sizes that do not fit together are refused nevertheless.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice, pairwise

from wal.stream_producers import BATCH_BYTES, STATE_BYTES

_FORMAT = 1
_COUNTS = struct.Struct("<IIIIQ")
_STREAM_TYPES, _PRODUCER_TYPES, _ABORTED_TYPES = "QII", "qH", "qqqq"
assert [array(code).itemsize for code in "QqIH"] == [8, 8, 4, 2], "the columns have fixed widths"

_ABORTED_FIELDS = len(_ABORTED_TYPES)


@dataclass(slots=True)
class ProducerSnapshot:
    """The streams in parallel lists; nothing in it changes any more."""

    stream_ids: list[int] = field(default_factory=list)
    states: list[dict[int, bytes]] = field(default_factory=list)
    """Per stream, the packed state of each producer, the latest writer last."""
    aborted: dict[int, array[int]] = field(default_factory=dict)
    """The aborted transactions of the streams that have some, four numbers each (`wal.transactions`)."""


def encode(snapshot: ProducerSnapshot) -> bytes:
    """Return the bytes of a snapshot; it touches nothing else, so it may run beside the loop."""
    none = array("q")
    aborted = [snapshot.aborted.get(stream_id, none) for stream_id in snapshot.stream_ids]
    values = list(chain.from_iterable(map(dict.values, snapshot.states)))
    columns = [
        array("Q", snapshot.stream_ids),
        array("I", map(len, snapshot.states)),
        array("I", [len(rows) // _ABORTED_FIELDS for rows in aborted]),
        array("q", chain.from_iterable(snapshot.states)),
        array("H", map(len, values)),
        *(_column(snapshot.aborted.values(), place) for place in range(_ABORTED_FIELDS)),
    ]
    states = b"".join(values)
    counts = _COUNTS.pack(_FORMAT, len(aborted), len(values), sum(columns[2]), len(states))
    return b"".join((counts, *columns, states))


def _column(aborted: Iterable[array[int]], place: int) -> array[int]:
    found = array("q")
    for rows in aborted:
        found.extend(rows[place::_ABORTED_FIELDS])
    return found


def decode(data: bytes | memoryview) -> ProducerSnapshot:
    """Return the snapshot in these bytes.

    Raises: ValueError when they are not one; the table is then rebuilt from the log.
    """
    if len(data) < _COUNTS.size:
        raise ValueError(f"a producer snapshot has {len(data)} bytes, which is less than its counts take")
    layout, streams, producers, aborted, state_bytes = _COUNTS.unpack_from(data)
    columns = [
        (array(code), count)
        for codes, count in (
            (_STREAM_TYPES, streams),
            (_PRODUCER_TYPES, producers),
            (_ABORTED_TYPES, aborted),
        )
        for code in codes
    ]
    size = _COUNTS.size + sum(count * column.itemsize for column, count in columns) + state_bytes
    if layout != _FORMAT or len(data) != size:
        raise ValueError(
            f"a producer snapshot of format {layout} has {len(data)} bytes, not the {size} it counts"
        )
    position = _COUNTS.size
    for column, count in columns:
        column.frombytes(data[position : position + count * column.itemsize])
        position += count * column.itemsize
    return _assemble([column for column, _ in columns], bytes(data[position:]))


def _assemble(columns: list[array[int]], states: bytes) -> ProducerSnapshot:
    stream_ids, producer_counts, aborted_counts, producer_ids, state_sizes, *aborted = columns
    counted = (sum(producer_counts), sum(aborted_counts), sum(state_sizes))
    held = (len(producer_ids), len(aborted[0]), len(states))
    if counted != held:
        raise ValueError(f"a producer snapshot counts {counted}, but holds {held}")
    for size in set(state_sizes):
        if size < STATE_BYTES or (size - STATE_BYTES) % BATCH_BYTES:
            raise ValueError(f"a producer snapshot holds a state of {size} bytes, a size that no state has")
    ends = list(accumulate(state_sizes, initial=0))
    values = [states[start:end] for start, end in pairwise(ends)]
    producers = zip(producer_ids, values, strict=True)
    rows = accumulate(aborted_counts, initial=0)
    return ProducerSnapshot(
        stream_ids.tolist(),
        [dict(islice(producers, count)) for count in producer_counts],
        {
            stream_id: _rows([column[row : row + count] for column in aborted])
            for stream_id, row, count in zip(stream_ids, rows, aborted_counts, strict=False)
            if count
        },
    )


def _rows(columns: list[array[int]]) -> array[int]:
    rows = array("q", bytes(columns[0].itemsize * len(columns[0]) * _ABORTED_FIELDS))
    for place, column in enumerate(columns):
        rows[place::_ABORTED_FIELDS] = column
    return rows
