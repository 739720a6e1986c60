"""The journal written into the files of a directory that is being restored.

Each slice goes where it came from.  What the cut had already is written again with the same bytes; a slice
must not begin beyond the end of its file, as then something would be missing before it.  A log that was made
after the cut begins with its first byte; slices of another that the cut lacks are of one that was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from wal.disk import Disk, File
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.objects import ObjectReads
from wal.remote.formats import JournalMark, RemoteDamaged
from wal.remote.journal_format import JournalSlice, journal_key
from wal.remote.journal_scan import chunks
from wal.remote.journal_times import newest_ms
from wal.segment import ANOTHER_HISTORY, segment_name
from wal.store import META


class JournalReplay:
    """One run over one directory."""

    def __init__(
        self,
        store: ObjectReads,
        disk: Disk,
        *,
        cluster_id: str,
        data: str,
        logs: Collection[str],
        wanted: Callable[[str], bool] = lambda _log: True,
    ) -> None:
        """Make a run; `logs` are those that the cut has, of which only the `wanted` ones are written."""
        self._store = store
        self._disk = disk
        self._cluster_id = cluster_id
        self._data = data
        self._begun = set(logs)
        self._wanted = wanted
        self.end: JournalMark | None = None
        """The first chunk that was not there, after `run`."""
        self.new_logs: list[str] = []
        """The folders of logs that were made after the cut."""
        self.is_past = False
        """Whether there was a chunk that is newer than what was asked for."""

    def run(self, since: JournalMark, *, epoch: int, until_ms: int | None = None) -> Iterator[int]:
        """Write all chunks from a mark up to an epoch, or a moment; yield the bytes of each.

        The last file is synced, and those before it.  Raises: RemoteDamaged; ObjectStoreError; DiskError.
        """
        touched: dict[str, None] = {}
        self.end = since
        for mark, chunk in chunks(self._store, self._cluster_id, since, epoch=epoch):
            where = journal_key(self._cluster_id, mark.epoch, mark.number)
            self.is_past = until_ms is not None and newest_ms(chunk, where) > until_ms
            if self.is_past:
                break
            for log in filter(self._wanted, chunk.header.logs):
                self._make(log)
            for part, data in chunk.pieces():
                if not self._wanted(part.log) or (part.log not in self._begun and part.position > 0):
                    continue
                self._begun.add(part.log)
                self._make(part.log)
                path = f"{self._data}/{part.log}/{segment_name(part.base_version)}"
                self._write(path, part, data, where=where)
                touched[path] = None
            self.end = JournalMark(mark.epoch, mark.number + 1)
            yield len(chunk.payload)
        for path in touched:
            file = self._disk.open(path)
            try:
                file.sync()
            finally:
                file.close()

    def _make(self, log: str) -> None:
        """Make a log's folder, unless it is there."""
        if self._disk.exists(f"{self._data}/{log}"):
            return
        database = log.rpartition("/")[0]
        if database and not self._disk.exists(f"{self._data}/{database}"):
            self._disk.make_directory(f"{self._data}/{database}")
        self._disk.make_directory(f"{self._data}/{log}")
        self.new_logs.append(log)
        if log != META:
            self._disk.open(f"{self._data}/{log}/{ANOTHER_HISTORY}", create=True).close()

    def _write(self, path: str, part: JournalSlice, data: memoryview, *, where: str) -> None:
        file = self._disk.open(path, create=not self._disk.exists(path))
        try:
            if part.position == 0 and _salt(file) != part.salt:
                file.truncate(0)  # an earlier one of this name was given up before it counted
            size = file.size()
            if part.position > size:
                raise RemoteDamaged(
                    f"{self._store.name}/{where}: bytes of {part.log}/{segment_name(part.base_version)} are "
                    f"missing: it ends at {size}, and what follows begins at {part.position}; if a server "
                    "still writes there, they are in a newer cut: begin the restore again"
                )
            file.write_at(part.position, [data])
        finally:
            file.close()


def _salt(file: File) -> int | None:
    """Return the salt of a segment, None if there is no header of one."""
    header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
    return header.salt if header is not None else None
