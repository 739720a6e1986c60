"""One log's part of a backup, copied while a server appends to the log, rolls it and removes its old files.

    closed segments   have a successor, so they were synced as a whole and change no more
    checkpoint        the newest one, read before the point in time of the backup is chosen
    the rest          read after it, up to the first frame that was written later

A segment that the checkpoint lists may be missing only if a later frame retires it; retention writes that
frame before it removes the file, so it is in the copy.  A failed sync makes the server replace its newest
file, or take back a successor: `check` finds a copy that is not part of the chain any more, and it is made
anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

from crc32c import crc32c

from wal.backup_manifest import BackupError
from wal.backup_pieces import KnownFile, Piece, copy_bytes, measured, same_segment
from wal.checkpoint import CHECKPOINT_NAMES, Checkpoint, own_checkpoint
from wal.disk import Disk, DiskError, File, NoSuchFile
from wal.format import FIRST_FRAME_POSITION
from wal.remote_record import read_records
from wal.segment import INDEX_SUFFIX, SUFFIX, base_version_of, segment_name
from wal.whole_files import read_file


class LogCopy:
    """The copy of the log in the folder `source` to the folder `target`, which exists and is empty.

    `previous` are the files of the same log in an earlier backup, in the folder `previous_folder`: sealed
    segments that are the same there become hard links.  Generators yield the bytes copied since they last
    yielded.
    """

    def __init__(
        self,
        disk: Disk,
        source: str,
        target: str,
        *,
        previous: Mapping[str, KnownFile] | None = None,
        previous_folder: str = "",
    ) -> None:
        self._disk = disk
        self.source = source
        self.target = target
        self._previous = previous or {}
        self._previous_folder = previous_folder
        self._closed: dict[int, Piece] = {}
        self._tail: dict[int, Piece] = {}
        self._checkpoint: Checkpoint | None = None
        self._floor = 0
        self.last_ms = 0
        """The time of the last frame that `mark` found, by the server's clock; 0 without one."""
        self.files: dict[str, KnownFile] = {}
        """The files of the copy so far."""
        self.linked: set[str] = set()
        """Those that are hard links."""

    # --- before the point ------------------------------------------------------------------------------

    def missing_bytes(self) -> int:
        """Return the size of the closed segments that are neither copied yet nor in the earlier backup."""
        total = 0
        bases = self._bases()
        self._refuse_remote()
        for base in bases[:-1]:
            if base not in self._closed and segment_name(base) not in self._previous:
                file = self._open(base)
                if file is not None:
                    total += file.size()
                    file.close()
        return total

    def _refuse_remote(self) -> None:
        """Refuse a log of which segments have left the disk that are not copied yet.  Raises: BackupError."""
        try:
            records = read_records(self._disk, self.source, self._disk.list(self.source))
        except NoSuchFile:
            return  # the log was dropped meanwhile
        missing = sorted(records.keys() - set(self._bases()) - set(self._closed))
        if missing:
            raise BackupError(
                f"{self.source}: {len(missing)} segments are in the object store only, "
                f"{segment_name(missing[0])} first, so a backup of the directory would lack their records; "
                "the store has a copy of all: 'kawal restore s3://BUCKET/PREFIX' makes a directory from it, "
                "which can be backed up"
            )

    def copy_closed(self) -> Iterator[int]:
        """Copy the closed segments that are not copied yet."""
        for base in self._bases()[:-1]:
            if base not in self._closed:
                piece = yield from self._copy(base)
                if piece is not None:
                    self._closed[base] = piece

    def forget_end(self) -> None:
        """Forget what was copied since `mark`, to begin again."""
        for name in [*map(segment_name, self._tail), *CHECKPOINT_NAMES]:
            self.forget(name)
        self._tail.clear()

    def mark(self) -> None:
        """Read the checkpoint, and how far the log reaches."""
        self._checkpoint = self._copy_checkpoint()
        self._floor = 0
        if self._checkpoint is not None:
            self._floor = max(self._checkpoint.sequence, self._checkpoint.durable_sequence)
        self.last_ms = 0
        for base in reversed(self._bases()):
            file = self._open(base)
            piece = measured(file, skim=base in self._closed) if file is not None else None
            if file is not None:
                file.close()
            if piece is not None:
                self._floor = max(self._floor, piece.next_sequence)
                self.last_ms = piece.last_ms
            if self.last_ms:
                return

    def _copy_checkpoint(self) -> Checkpoint | None:
        found: list[tuple[int, str, bytes, Checkpoint]] = []
        for name in CHECKPOINT_NAMES:
            try:
                data = read_file(self._disk, f"{self.source}/{name}")
            except NoSuchFile:
                continue
            checkpoint = own_checkpoint(data, self.source)
            if checkpoint is not None:
                found.append((checkpoint.generation, name, data, checkpoint))
        if not found:
            return None
        _, name, data, newest = max(found, key=lambda item: item[0])
        self.write(name, data)
        return newest

    # --- after the point -------------------------------------------------------------------------------

    def finish(self, point_ms: int | None) -> Iterator[int]:
        """Copy what is missing of the log as it was at the point; None: as it is now.

        Raises: BackupError.
        """
        self._refuse_remote()
        for base in self._bases():
            if base in self._closed or not self._is_needed(base):
                continue
            piece = yield from self._copy(base, floor=self._floor, point_ms=point_ms, is_closed=False)
            if piece is None:
                break
            if piece.end_position > FIRST_FRAME_POSITION:
                self._tail[base] = piece
            else:
                self.forget(segment_name(base))
            if piece.passed:
                break
        for base in [base for base in self._closed if not self._is_needed(base)]:
            del self._closed[base]
            self.forget(segment_name(base))

    def _is_needed(self, base: int) -> bool:
        """Whether a start from the checkpoint reads the segment."""
        if self._checkpoint is None or not self._checkpoint.segments[0]:
            return True
        bases, retired = self._checkpoint.segments[0], self._checkpoint.segments[-1]
        if base > bases[-1]:
            # One that ends below the checkpoint would be listed, if it had not been retired.
            piece = self._closed.get(base)
            return piece is None or piece.next_sequence >= self._checkpoint.sequence
        return any(base == listed and not gone for listed, gone in zip(bases, retired, strict=True))

    def check(self) -> str:
        """Return why the copy is not one state of the log, "" when it is; forget copies that are stale.

        It does not read the copy; `wal.inspect.verify_log` does, and finds segments that are missing.
        """
        pieces = self._closed | self._tail
        problem, newest, due, crc = "", -1, 0, None
        covered = self._checkpoint.sequence if self._checkpoint is not None else 0
        if self._checkpoint is not None:
            for row in zip(*self._checkpoint.segments, strict=True):
                newest, due = row[0], row[4]
                piece = pieces.get(newest)
                if piece is not None and (piece.header.salt, piece.next_sequence) != (row[2], due):
                    problem = self._stale(newest)
        for base in sorted(base for base in pieces if base > newest):
            header = pieces[base].header
            if header.base_sequence == due:
                follows = crc in (None, header.previous_crc)
            else:
                # Below the checkpoint, segments that it does not list were retired.
                follows = due < header.base_sequence <= covered
            if not follows:
                problem = self._stale(newest) and self._stale(base)
            newest, due, crc = base, pieces[base].next_sequence, pieces[base].last_crc
        if not problem and due < self._floor:
            problem = f"{self.source}: frames {due} to {self._floor - 1} were not found"
        return problem

    def distrust(self, name: str) -> None:
        """Copy this file again, and do not link it: what the copy has is not what was written."""
        self._previous = {known: file for known, file in self._previous.items() if known != name}
        base = base_version_of(name)
        if base is not None:
            self._stale(base)

    def _stale(self, base: int) -> str:
        if self._closed.pop(base, None) is not None:
            self.forget(segment_name(base))
        return f"{self.source}/{segment_name(base)} is not part of the log any more"

    # --- files -----------------------------------------------------------------------------------------

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file into the copy."""
        self.forget(name)
        file = self._disk.open(f"{self.target}/{name}", create=True, exclusive=True)
        try:
            file.write_at(0, [data])
            file.sync()
        finally:
            file.close()
        self.files[name] = KnownFile(len(data), crc32c(data))

    def _copy(
        self, base: int, *, floor: int = 0, point_ms: int | None = None, is_closed: bool = True
    ) -> Generator[int, None, Piece | None]:
        """Copy a segment, or link it; return None when it has vanished or has no header."""
        file = self._open(base)
        if file is None:
            return None
        try:
            piece = measured(file, skim=is_closed, floor=floor, point_ms=point_ms)
            if is_closed and piece is not None and not piece.finished:
                piece = measured(file, skim=False)  # its end is not a footer: look at every byte
            yield 0
            if piece is None:
                return None
            name = segment_name(base)
            self.forget(name)
            if piece.finished and self._link(name, file, piece.end_position):
                yield 0
            else:
                copied = yield from copy_bytes(self._disk, file, f"{self.target}/{name}", piece.end_position)
                self.files[name] = copied
            if piece.finished:
                self._copy_index(name)
            return piece
        finally:
            file.close()

    def _link(self, name: str, file: File, size_bytes: int) -> bool:
        """Link a segment that the earlier backup has; return whether that worked."""
        known = self._previous.get(name)
        path = f"{self._previous_folder}/{name}"
        if known is None or known.size_bytes != size_bytes:
            return False
        if not same_segment(self._disk, file, path, size_bytes):
            return False
        try:
            self._disk.link(path, f"{self.target}/{name}")
        except DiskError:
            return False  # another file system, or one without links: copy it
        self.files[name] = known
        self.linked.add(name)
        return True

    def _copy_index(self, name: str) -> None:
        """Copy a segment's index if there is one; a start makes a missing one, which takes longer."""
        index = name.removesuffix(SUFFIX) + INDEX_SUFFIX
        try:
            data = read_file(self._disk, f"{self.source}/{index}")
        except NoSuchFile:
            return
        self.write(index, data)

    def _open(self, base: int) -> File | None:
        try:
            return self._disk.open(f"{self.source}/{segment_name(base)}", read_only=True)
        except NoSuchFile:
            return None

    def _bases(self) -> list[int]:
        """Return the base versions of the segments, oldest first; none when the log has vanished."""
        try:
            names = self._disk.list(self.source)
        except NoSuchFile:
            return []
        return sorted(base for name in names if (base := base_version_of(name)) is not None)

    def forget(self, name: str) -> None:
        """Remove a file from the copy, and with a segment its index."""
        for each in {name, name.removesuffix(SUFFIX) + INDEX_SUFFIX} if name.endswith(SUFFIX) else {name}:
            self.files.pop(each, None)
            self.linked.discard(each)
            if self._disk.exists(f"{self.target}/{each}"):
                self._disk.remove(f"{self.target}/{each}")
