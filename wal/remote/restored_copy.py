"""The files of one copy, written into a directory that is being restored: of a server, a node or a worker.

Every object is read in pieces, compared with its checksum, and written to the file it came from; the chunks
of each newest segment are laid end to end; the journal that follows the cut is written over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crc32c import crc32c

from wal.catalogue import SNAPSHOT_NAMES
from wal.checkpoint import CHECKPOINT_NAMES
from wal.disk import Disk
from wal.objects import NoSuchObject, ObjectStore
from wal.remote.chosen_cut import choose_cut, newest_cut
from wal.remote.formats import LogCut, RemoteDamaged, RemoteSegment
from wal.remote.journal_replay import JournalReplay
from wal.remote.read_objects import read_manifest
from wal.segment import ANOTHER_HISTORY, INDEX_SUFFIX, SUFFIX, segment_name
from wal.store import META

PIECE_BYTES = 8 << 20
"""The bytes read at once: what a restore holds in memory."""


class RestoredCopy:
    """One copy; its steps yield the bytes that each has written."""

    def __init__(
        self, store: ObjectStore, disk: Disk, *, cluster_id: str, data: str, at_ms: int | None
    ) -> None:
        """Choose the cut, the newest one that was kept up to `at_ms`: the journal ends there, too.

        Raises: BackupError, RemoteDamaged; ObjectStoreError.
        """
        self._store = store
        self._disk = disk
        self._cluster_id = cluster_id
        self._data = data
        self._at_ms = at_ms
        self.cut, self._is_newest = choose_cut(store, cluster_id, at_ms)
        self._segments: dict[str, tuple[RemoteSegment, ...]] = {}
        self.new_logs: list[str] = []
        """The logs that were made after the cut, once `replay` has run."""

    def measure(self) -> int:
        """Read the manifests, and return the bytes that the cut leads to.

        Raises: RemoteDamaged; ObjectStoreError.
        """
        self._segments = {name: self._segments_of(name, log) for name, log in self.cut.logs.items()}
        return sum(map(self.size_of, self.cut.logs))

    def size_of(self, name: str) -> int:
        """Return the bytes of a log, once `measure` has run."""
        segments, chunks = self._segments[name], self.cut.logs[name].chunks
        return sum(segment.size_bytes + segment.index_bytes for segment in segments) + sum(
            chunk.size_bytes for chunk in chunks
        )

    def _segments_of(self, name: str, log: LogCut) -> tuple[RemoteSegment, ...]:
        if log.manifest is None:
            return ()
        return read_manifest(self._store, f"{self._cluster_id}/{name}", log).segments

    def write_log(self, name: str) -> Iterator[int]:
        """Write the files of a log, whose folder is there.  Raises: RemoteDamaged; errors of both sides."""
        log, key = self.cut.logs[name], f"{self._cluster_id}/{name}"
        for segment in self._segments[name]:
            stem = segment_name(segment.base_version).removesuffix(SUFFIX)
            parts = [(f"{key}/{segment.stem}{SUFFIX}", 0, segment.size_bytes, segment.crc)]
            yield from self._write(name, stem + SUFFIX, parts)
            if segment.index_bytes:
                parts = [(f"{key}/{segment.stem}{INDEX_SUFFIX}", 0, segment.index_bytes, segment.index_crc)]
                yield from self._write(name, stem + INDEX_SUFFIX, parts)
        chunks = [
            (f"{key}/{chunk.name}", chunk.position, chunk.size_bytes, chunk.crc) for chunk in log.chunks
        ]
        if chunks:
            yield from self._write(name, segment_name(log.base_version), chunks)
        for file, found in ((CHECKPOINT_NAMES[0], log.checkpoint), (SNAPSHOT_NAMES[0], log.snapshot)):
            if found is not None:
                yield from self._write(name, file, [(f"{key}/{found.name}", 0, found.size_bytes, found.crc)])
        if name != META:
            yield from self._write(name, ANOTHER_HISTORY, [])

    def _write(self, log: str, name: str, parts: list[tuple[str, int, int, int]]) -> Iterator[int]:
        """Make a file of objects, each with its position in the file, its size and its CRC."""
        file = self._disk.open(f"{self._data}/{log}/{name}", create=True, exclusive=True)
        try:
            for key, position, size_bytes, crc in parts:
                found = 0
                for start in range(0, size_bytes, PIECE_BYTES):
                    piece = self._read(key, start, min(PIECE_BYTES, size_bytes - start))
                    file.write_at(position + start, [piece])
                    found = crc32c(piece, found)
                    yield len(piece)
                if found != crc:
                    raise RemoteDamaged(
                        f"{self._store.name}/{key}: the object is damaged: its checksum is {found:#010x},"
                        f" and what names it says {crc:#010x}"
                    )
            file.sync()
        finally:
            file.close()

    def _read(self, key: str, start: int, size_bytes: int) -> bytes:
        try:
            piece = self._store.read_range(key, start, size_bytes)
        except NoSuchObject as error:
            raise RemoteDamaged(
                f"{self._store.name}/{key}: the object is missing; if a server still uploads there, it was "
                "replaced meanwhile: begin the restore again"
            ) from error
        if len(piece) != size_bytes:
            raise RemoteDamaged(
                f"{self._store.name}/{key}: the object ends at byte {start + len(piece)}, and what names it "
                f"says that it has at least {start + size_bytes}"
            )
        return piece

    def replay(self, wanted: Callable[[str], bool]) -> Iterator[int]:
        """Write the journal that follows the cut into the files of the wanted logs, if there is one.

        Raises: RemoteDamaged; errors of both sides.
        """
        if self.cut.journal is None or not self._is_newest:
            return
        replayed = JournalReplay(
            self._store,
            self._disk,
            cluster_id=self._cluster_id,
            data=self._data,
            logs=self.cut.logs,
            wanted=wanted,
        )
        yield from replayed.run(self.cut.journal, epoch=self.cut.epoch, until_ms=self._at_ms)
        self.new_logs = replayed.new_logs
        if replayed.is_past:
            return  # all that lies before the moment was there
        newest = newest_cut(self._store, self._cluster_id).journal
        if newest is not None and replayed.end is not None and newest > replayed.end:
            raise RemoteDamaged(
                f"{self._store.name}/{self._cluster_id}: a server went on writing, and chunks of the journal"
                " that a newer cut has are gone: begin the restore again"
            )
