"""The named producers for the checkpoint: captured at once, turned into columns in another thread.

    snapshot := counts columns                        little endian; nothing at all stands for no names
    counts   := format:u32 scopes:u32 names:u32 name_bytes:u64
    columns  := scope u64[scopes]  name count u32[scopes]  name size u16[names]
                state u8[names * 40]  name u8[name_bytes]             joined (see wal.named_producers)

The checkpoint guards its integrity; sizes that do not fit together are refused nevertheless.
"""

from __future__ import annotations

import struct
from array import array
from itertools import accumulate, chain, islice, pairwise

from wal.named_producers import STATE, NamedSnapshot

_FORMAT = 1
_COUNTS = struct.Struct("<IIIQ")
_SCOPE_BYTES, _COUNT_BYTES, _SIZE_BYTES = 8, 4, 2


def encode(snapshot: NamedSnapshot) -> bytes:
    """Return the bytes of a snapshot; it touches nothing else, so it may run beside the loop."""
    tables = [list(chain.from_iterable(map(dict.items, parts))) for parts in snapshot.scopes.values()]
    rows = list(chain.from_iterable(tables))
    names = [name for name, _ in rows]
    if not names:
        return b""
    joined = b"".join(names)
    return b"".join(
        (
            _COUNTS.pack(_FORMAT, len(tables), len(names), len(joined)),
            array("Q", snapshot.scopes),
            array("I", map(len, tables)),
            array("H", map(len, names)),
            *(state for _, state in rows),
            joined,
        )
    )


def decode(data: bytes | memoryview) -> NamedSnapshot:
    """Return the snapshot in these bytes.

    Raises: ValueError when they are not one; the checkpoint then counts as invalid.
    """
    if not data:
        return NamedSnapshot({})
    if len(data) < _COUNTS.size:
        raise ValueError(f"a snapshot of named producers has {len(data)} bytes, less than its counts take")
    layout, scopes, names, name_bytes = _COUNTS.unpack_from(data)
    sizes = (
        _SCOPE_BYTES * scopes,
        _COUNT_BYTES * scopes,
        _SIZE_BYTES * names,
        STATE.size * names,
        name_bytes,
    )
    bounds = list(accumulate(sizes, initial=_COUNTS.size))
    if layout != _FORMAT or len(data) != bounds[-1]:
        raise ValueError(
            f"a snapshot of named producers of format {layout} has {len(data)} bytes, not {bounds[-1]}"
        )
    ids, counts, lengths, states, joined = (bytes(data[start:end]) for start, end in pairwise(bounds))
    name_counts, name_sizes = array("I", counts), array("H", lengths)
    if (sum(name_counts), sum(name_sizes)) != (names, name_bytes):
        raise ValueError(
            f"a snapshot of named producers counts {names} names in {name_bytes} bytes, but holds"
            f" {sum(name_counts)} in {sum(name_sizes)}"
        )
    ends = accumulate(name_sizes, initial=0)
    rows = zip(
        (joined[start:end] for start, end in pairwise(ends)),
        (states[at : at + STATE.size] for at in range(0, len(states), STATE.size)),
        strict=True,
    )
    return NamedSnapshot(
        {
            scope: [dict(islice(rows, count))]
            for scope, count in zip(array("Q", ids), name_counts, strict=True)
        }
    )
