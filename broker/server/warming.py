"""Reading the ranges at the head of an answer in a thread, many in one visit.

An answer from the past of a log that many partitions share is made of one small range for each batch. A visit
to a thread takes milliseconds on a busy machine, and a call of sendfile makes a packet of its own: range by
range, such an answer took longer than clients wait for it, so that they asked again and never came to its
end. So a visit takes many ranges, and the small ones among them become buffers, which leave gathered.

All ranges need a visit after a start, until they have been compared with their CRCs; those on file systems
that do not tell what is in memory (RWF_NOWAIT: tmpfs, FUSE, NFS) need one each time.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from broker.connections.connection import Connection
from wal.segment import FileRange

WARM_BYTES: Final = 256 << 10
"""Bytes after which a visit takes no further range: they stay in memory until the client takes them."""

WARM_RANGES: Final = 256
"""Ranges of a visit: some milliseconds of a thread that has the interpreter to itself."""

PARTS_SEARCHED: Final = 4 * WARM_RANGES
"""Parts of the answer among which they are looked for."""

BUFFER_BYTES_MAX: Final = 64 << 10
"""Ranges of this size and more are left to sendfile: below it, a call costs more than it saves."""


class Warming:
    """The next ranges of an answer, of which the first may be cold; a thread calls `load`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ranges: list[FileRange] = []
        self._loaded: list[bytes | None] = []
        room = WARM_BYTES
        for part in islice(connection.outgoing, PARTS_SEARCHED):
            if type(part) is not FileRange:
                continue
            if self._ranges and part.size_bytes > room:
                return
            self._ranges.append(part)
            room -= part.size_bytes
            if room <= 0 or len(self._ranges) == WARM_RANGES:
                return

    def load(self) -> None:
        """Read the ranges up to the first that cannot be read; block as long as that takes.

        A later range that cannot be read is left to a visit of its own, when all before it has been sent.

        Raises: LogDamaged, DiskError, if that is the very first.
        """
        for part in self._ranges:
            try:
                part.load()
                small = part.size_bytes < BUFFER_BYTES_MAX
                data = part.file.read_at(part.position, part.size_bytes) if small else None
            except Exception:
                if self._loaded:
                    return
                raise
            self._loaded.append(data)

    def done(self) -> None:
        """Put what was read in its place; the client must not have left.

        Ranges at the head may have been sent meanwhile, as soon as they were in memory.
        """
        outgoing = islice(self._connection.outgoing, PARTS_SEARCHED)
        places = {id(part): index for index, part in enumerate(outgoing)}
        for part, data in zip(self._ranges, self._loaded, strict=False):
            part.maybe_cold = False
            index = places.get(id(part))
            if index is not None and data is not None and len(data) == part.size_bytes:
                self._connection.put_buffer(index, data)
