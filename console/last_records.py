"""The offsets at which the last N records of partitions begin, found by reading backwards.

Offsets alone do not tell: a view leaves out what does not match, compaction what is old, and a transaction's
markers have offsets of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from console.client import Trouble
from console.fetcher import Fetcher
from console.positions import Extent
from console.reader import Reader

WIDER = 16
"""The factor by which more is read where too few records were found."""


def last_records(
    fetch: Callable[[dict[Any, int], dict[Any, int]], Fetcher],
    extents: Mapping[Any, Extent],
    count: int,
    *,
    trouble: Trouble,
    bootstrap: str,
) -> dict[Any, int]:
    """Return the offset from which on each partition has `count` records, or as many as there are.

    `fetch` makes a fetcher from where to begin and where to end in each partition.  Raises: CommandError.
    """
    begins = {partition: extent.end for partition, extent in extents.items()}
    pending = dict(extents) if count else {}
    span = count
    while pending:
        starts = {partition: max(extent.start, extent.end - span) for partition, extent in pending.items()}
        ends = {partition: extent.end for partition, extent in pending.items()}
        found = _offsets_in(fetch, starts, ends, count, trouble, bootstrap)
        for partition, offsets in found.items():
            if len(offsets) == count or starts[partition] == pending[partition].start:
                begins[partition] = offsets[0] if offsets else ends[partition]
                del pending[partition]
        span *= WIDER
    return begins


def _offsets_in(
    fetch: Callable[[dict[Any, int], dict[Any, int]], Fetcher],
    starts: dict[Any, int],
    ends: dict[Any, int],
    count: int,
    trouble: Trouble,
    bootstrap: str,
) -> dict[Any, deque[int]]:
    """Return the offsets of the last records between two places, at most `count` of each partition."""
    found: dict[Any, deque[int]] = {partition: deque(maxlen=count) for partition in starts}
    bounds = {partition: end for partition, end in ends.items() if starts[partition] < end}
    fetcher = fetch({partition: starts[partition] for partition in bounds}, bounds)
    try:
        Reader(
            fetcher,
            bounds=dict(bounds),
            records_left=None,
            write=lambda partition, records: found[partition].extend([record.offset for record in records]),
            flush=lambda: None,
            output_closed=lambda: False,
            trouble=trouble,
            bootstrap=bootstrap,
        ).run()
    finally:
        fetcher.close()
    return found
