"""Which bytes the next chunk of a growing segment holds: new ones, and small chunks that it replaces.

Chunks are added every few seconds, so a quiet log would leave thousands of tiny ones.  Seven of one level
wait; the next one is put together with them and is of the level above.  So a segment has at most seven
chunks of each level, and a byte is uploaded once for each level: log8 of the number of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from wal.remote.formats import Chunk

FANOUT: Final = 8


class NextChunk(NamedTuple):
    """The next chunk: its first byte, its level, and the chunks before it that stay."""

    position: int
    level: int
    kept: int


def next_chunk(chunks: Sequence[Chunk]) -> NextChunk:
    """Return where the next chunk begins, when more bytes follow `chunks`."""
    kept, level = len(chunks), 0
    while kept >= FANOUT - 1 and all(chunk.level == level for chunk in chunks[kept - (FANOUT - 1) : kept]):
        kept -= FANOUT - 1
        level += 1
    position = chunks[kept - 1].end if kept else 0
    return NextChunk(position, level, kept)
