"""When the frames of a chunk were written: a restore to a moment ends before the first chunk that is newer.

Each frame has the time of day at which its commit began, by the clock of the server that wrote it.  A chunk
is acknowledged after its frames were written, and chunks one after the other: so what was acknowledged up to
a moment lies before the first chunk with a frame of later, and nothing that was written later does.  Chunks
are not divided, as a frame may have followed from one of another log in the same chunk.
"""

from __future__ import annotations

from wal.format import FIRST_FRAME_POSITION, decode_frame_header, seed_of
from wal.remote.formats import RemoteDamaged
from wal.remote.journal_format import JournalObject, JournalSlice
from wal.segment import segment_name


def newest_ms(chunk: JournalObject, where: str) -> int:
    """Return the time of its newest frame, in milliseconds since 1970; `where` names it in errors.

    Raises: RemoteDamaged.
    """
    times = (_newest_ms(part, data, where) for part, data in chunk.pieces())
    return max(times, default=0)


def _newest_ms(part: JournalSlice, data: memoryview, where: str) -> int:
    seed, newest = seed_of(part.salt), 0
    position = FIRST_FRAME_POSITION if part.position == 0 else 0
    while position < len(data):
        found = decode_frame_header(data, position, seed)
        if found is None:
            file = f"{part.log}/{segment_name(part.base_version)}"
            raise RemoteDamaged(
                f"{where}: bytes {part.position + position} on of {file} are no frame, so its time is not"
                " known: restore without --at"
            )
        newest = max(newest, found[0].ingest_ms)
        position += found[0].size_bytes
    return newest
