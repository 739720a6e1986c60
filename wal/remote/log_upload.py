"""One log's copy in the object store, brought up to a moment that the event loop chose.

    closed segments     newest first, within the budget of a round
    the newest segment  its synced frames, as chunks
    checkpoint          the newest one that the moment covers; for the catalogue also its snapshot

Every frame is checked before it is uploaded: damage on the disk never reaches the copy.  No name is used for
other bytes than at its first use: a request without an answer may still be carried out.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b

from crc32c import crc32c

from wal.backup_pieces import Piece, measured
from wal.catalogue import SNAPSHOT_NAMES, decode_snapshot
from wal.checkpoint import CHECKPOINT_NAMES, own_checkpoint
from wal.disk import Disk, File, NoSuchFile
from wal.errors import StoreError
from wal.format import FIRST_FRAME_POSITION, SegmentHeader, decode_segment_start, seed_of
from wal.log_view import LogView
from wal.objects import ObjectStore, put_once
from wal.remote.chunks import next_chunk
from wal.remote.formats import Chunk, LogCut, Manifest, RemoteObject, RemoteSegment, seal
from wal.remote.proof import ProofReads
from wal.remote_record import RemoteRecord
from wal.scan import Scan
from wal.segment import INDEX_SUFFIX, SUFFIX, segment_name
from wal.whole_files import read_file


class LocalDamage(StoreError):
    """A segment on the disk that cannot be uploaded, as its bytes are not those that were written."""


class Budget:
    """The bytes that a round may still upload of closed segments; the first one always may."""

    def __init__(self, size_bytes: int) -> None:
        self._left = max(size_bytes, 1)
        self.uploaded_bytes = 0
        """Everything that was uploaded, closed segments or not."""

    @property
    def is_spent(self) -> bool:
        """Whether further closed segments wait for the next round."""
        return self._left <= 0

    def take(self, size_bytes: int, *, closed: bool = False) -> None:
        """Count an upload."""
        self.uploaded_bytes += size_bytes
        if closed:
            self._left -= size_bytes


class _Growing:
    """The newest segment: how far it was read, and the chunks that hold that."""

    def __init__(self, base_version: int, salt: int, sequence: int) -> None:
        self.base_version = base_version
        self.salt = salt
        self.sequence = sequence
        self.position = FIRST_FRAME_POSITION
        self.chunks: list[Chunk] = []


class LogUpload:
    """The copy of the log in `folder`; one thread at a time uses it.

    `key` is the log's folder in the store, `cut` and `manifest` what an earlier process left there.
    """

    def __init__(
        self,
        store: ObjectStore,
        disk: Disk,
        *,
        folder: str,
        key: str,
        epoch: int,
        cut: LogCut | None = None,
        manifest: Manifest | None = None,
    ) -> None:
        self._store = store
        self._disk = disk
        self._folder = folder
        self._key = key
        self._epoch = epoch
        self._number = 0
        self._segments = {segment.base_version: segment for segment in manifest.segments} if manifest else {}
        cut = cut or LogCut(durable_sequence=0)
        self._newest_left = cut.base_version, cut.salt
        self._chunks_left = list(cut.chunks)
        self._growing: _Growing | None = None
        # What is in the store now; it is part of the next cut even if this round ends with an error.
        self._small = {"manifest": cut.manifest, "checkpoint": cut.checkpoint, "snapshot": cut.snapshot}
        self._digests: dict[str, bytes] = {}
        self._manifest_of = tuple(self._segments.values())
        self._is_checked = not self._segments
        self._unread: set[str] = set()
        self.bases: frozenset[int] = frozenset()
        """The closed segments that were uploaded, after `bring_up`."""
        self.garbage: list[str] = []
        """Keys that the next cut will not lead to."""
        self.problem = ""
        """Why a closed segment cannot be uploaded, if that is so."""

    def bring_up(self, view: LogView, budget: Budget) -> LogCut:
        """Upload what is missing, and return the log's part of the next cut.

        Raises: ObjectStoreError; DiskError; LocalDamage when the newest segment is damaged.
        """
        self._forget_removed(view)
        missing = self._upload_closed(view, budget)
        if view.bases:
            self._grow(view.bases[-1], view.durable_sequence, budget)
        self._store_state("checkpoint", CHECKPOINT_NAMES, view, budget)
        self._store_state("snapshot", SNAPSHOT_NAMES, view, budget)
        self._store_manifest(budget)
        self.bases, growing = frozenset(self._segments), self._growing
        return LogCut(
            durable_sequence=view.durable_sequence,
            segments_missing=missing,
            base_version=growing.base_version if growing else 0,
            salt=growing.salt if growing else 0,
            chunks=tuple(growing.chunks) if growing else (),
            **self._small,
        )

    def all_keys(self) -> list[str]:
        """Return the keys of everything that is not garbage: all of it, for a log that is dropped."""
        chunks = [*self._chunks_left, *(self._growing.chunks if self._growing else ())]
        small = [found for found in self._small.values() if found is not None]
        keys = [f"{self._key}/{found.name}" for found in (*small, *chunks)]
        return keys + [key for segment in self._segments.values() for key in self._keys_of(segment)]

    # --- closed segments -------------------------------------------------------------------------------

    def _keys_of(self, segment: RemoteSegment) -> list[str]:
        suffixes = (SUFFIX, INDEX_SUFFIX) if segment.index_bytes else (SUFFIX,)
        return [f"{self._key}/{segment.stem}{suffix}" for suffix in suffixes]

    def _forget_removed(self, view: LogView) -> None:
        """Leave out the segments that are not alive any more, here or not, and those with other bytes."""
        present = set(view.bases[:-1])
        if not self._is_checked:
            present = {base for base in present if base in self._segments and self._is_the_same(base, view)}
            self._is_checked = True
        for base in [base for base in self._segments if base not in present]:
            self.garbage += self._keys_of(self._segments.pop(base))

    def _is_the_same(self, base: int, view: LogView) -> bool:
        """Whether the log's segment is the one that an earlier process uploaded, by its salt."""
        if base in view.remote:
            return view.remote[base].salt == self._segments[base].salt
        header = self._header(base)
        return header is not None and header.salt == self._segments[base].salt

    def _header(self, base: int) -> SegmentHeader | None:
        """Return the header of a segment's file, None without a valid one."""
        try:
            file = self._disk.open(f"{self._folder}/{segment_name(base)}", read_only=True)
        except NoSuchFile:
            return None
        try:
            return decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))[0]
        finally:
            file.close()

    def _upload_closed(self, view: LogView, budget: Budget) -> int:
        """Upload closed segments; return how many are left."""
        self.problem, missing = "", 0
        for base in reversed(view.bases[:-1]):
            if base in self._segments:
                continue
            if base in view.remote:
                # Nothing of it is here: only the copy that the record names could give it back.
                self.problem, missing = self._lost_problem(base, view), missing + 1
                continue
            if budget.is_spent or not self._upload_segment(base, view, budget):
                missing += 1
        return missing

    def _lost_problem(self, base: int, view: LogView) -> str:
        return (
            f"{self._folder}/{segment_name(base)}: the segment left the disk, and the copy in "
            f"{self._store.name} does not name it: its bytes should be in the object "
            f"{view.remote[base].key!r}; give the server the store it had, or run 'kawal restore' from that"
        )

    def prove(self, manifest: Manifest, bases: Collection[int], reads: ProofReads) -> list[RemoteRecord]:
        """Read back the objects of segments that the cut leads to; return those that have their bytes.

        One that gives no answer is tried after the others from then on, so that it holds none of them up.
        """
        proof = []
        for segment in sorted(manifest.segments, key=lambda found: found.stem in self._unread):
            # Garbage of this round is still named by the cut, but not for long.
            if segment.base_version not in bases or self._segments.get(segment.base_version) != segment:
                continue
            if reads.are_over:
                break
            base, key = segment.base_version, f"{self._key}/{segment.stem}{SUFFIX}"
            self._unread.discard(segment.stem)
            match reads.prove(key, segment):
                case True:
                    proof.append(RemoteRecord(base, segment.salt, key, segment.size_bytes, segment.crc))
                case False:
                    # Uploaded again under another name. The object stays until the next start, whose sweep
                    # knows all records: should one of this base be under way, it does not lose what it names.
                    del self._segments[base]
                case None:
                    self._unread.add(segment.stem)
        return proof

    def _is_whole(self, piece: Piece, base: int, view: LogView) -> bool:
        """Whether nothing is missing at the end: a footer says so, or the segment that follows."""
        if piece.next_sequence > view.durable_sequence:
            return False
        if piece.finished:
            return True
        header = self._header(view.bases[view.bases.index(base) + 1])
        return (
            header is not None
            and header.base_sequence == piece.next_sequence
            and piece.last_crc in (None, header.previous_crc)
        )

    def _upload_segment(self, base: int, view: LogView, budget: Budget) -> bool:
        """Upload a closed segment with its index; return whether that was possible."""
        path = f"{self._folder}/{segment_name(base)}"
        try:
            file = self._disk.open(path, read_only=True)
        except NoSuchFile:
            return False  # retired meanwhile
        try:
            piece = measured(file, skim=False)
            if piece is None or not self._is_whole(piece, base, view):
                self.problem = f"{path}: not a whole segment; run 'kawal wal verify'"
                return False
            data = file.read_at(0, piece.end_position)
        finally:
            file.close()
        index = self._index(base)
        segment = RemoteSegment(
            stem=self._name("seg"),
            base_version=base,
            salt=piece.header.salt,
            next_sequence=piece.next_sequence,
            size_bytes=len(data),
            crc=crc32c(data),
            index_bytes=len(index),
            index_crc=crc32c(index),
        )
        self._put(segment.stem + SUFFIX, data, budget, closed=True)
        if index:
            try:
                self._put(segment.stem + INDEX_SUFFIX, index, budget)
            except BaseException:
                self.garbage.append(f"{self._key}/{segment.stem}{SUFFIX}")
                raise
        self._segments[base] = segment
        return True

    def _index(self, base: int) -> bytes:
        try:
            stem = segment_name(base).removesuffix(SUFFIX)
            return read_file(self._disk, f"{self._folder}/{stem}{INDEX_SUFFIX}")
        except NoSuchFile:
            return b""

    # --- the newest segment ----------------------------------------------------------------------------

    def _grow(self, base: int, durable_sequence: int, budget: Budget) -> None:
        """Upload the synced frames of the newest segment that no chunk has yet."""
        try:
            file = self._disk.open(f"{self._folder}/{segment_name(base)}", read_only=True)
        except NoSuchFile as error:
            raise LocalDamage(f"{error}; run 'kawal wal verify'") from error
        try:
            growing = self._of(base, file)
            if growing is None:
                raise LocalDamage(f"{file.path}: it has no valid header; run 'kawal wal verify'")
            end = self._end_of_synced(growing, file, durable_sequence)
            if not growing.chunks or end > growing.chunks[-1].end:
                self._add_chunk(growing, file, end, budget)
        finally:
            file.close()

    def _of(self, base: int, file: File) -> _Growing | None:
        """Return the state of the newest segment; when it is another one, its chunks begin anew."""
        growing = self._growing
        header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
        if header is None:
            return None
        if growing is not None and (growing.base_version, growing.salt) == (base, header.salt):
            return growing
        old = growing.chunks if growing is not None else self._chunks_left
        self._chunks_left = []
        self._growing = _Growing(base, header.salt, header.base_sequence)
        if growing is None and self._newest_left == (base, header.salt):
            # An earlier process had come so far; its chunks stay as far as the disk has the same bytes.
            for chunk in old:
                if crc32c(file.read_at(chunk.position, chunk.size_bytes)) != chunk.crc:
                    break
                self._growing.chunks.append(chunk)
                self._growing.position, self._growing.sequence = chunk.end, chunk.next_sequence
        kept = len(self._growing.chunks)
        self.garbage += [f"{self._key}/{chunk.name}" for chunk in old[kept:]]
        return self._growing

    def _end_of_synced(self, growing: _Growing, file: File, durable_sequence: int) -> int:
        """Read the frames that were synced since the last time, and return where they end."""
        scan = Scan(file, seed=seed_of(growing.salt), position=growing.position, sequence=growing.sequence)
        while growing.sequence < durable_sequence and not scan.finished:
            frame = next(iter(scan), None)
            if frame is None:
                raise LocalDamage(
                    f"{file.path}: frame {growing.sequence} was synced, but at byte {growing.position} "
                    f"{scan.problem}; run 'kawal wal verify'"
                )
            growing.position, growing.sequence = frame.next_position, frame.next_sequence
        return growing.position

    def _add_chunk(self, growing: _Growing, file: File, end: int, budget: Budget) -> None:
        plan = next_chunk(growing.chunks)
        data = file.read_at(plan.position, end - plan.position)
        name, sequence = self._name("wal"), growing.sequence
        chunk = Chunk(name, plan.position, len(data), crc32c(data), sequence, plan.level)
        self._put(chunk.name, data, budget)
        self.garbage += [f"{self._key}/{old.name}" for old in growing.chunks[plan.kept :]]
        growing.chunks[plan.kept :] = [chunk]

    # --- small objects ---------------------------------------------------------------------------------

    def _name(self, kind: str) -> str:
        """Return a name that was never used."""
        self._number += 1
        return f"{kind}/{self._number:020d}-{self._epoch:010d}"

    def _put(self, name: str, data: bytes, budget: Budget, *, closed: bool = False) -> None:
        """Create an object under a new name; one that gets no answer is garbage."""
        key = f"{self._key}/{name}"
        try:
            put_once(self._store, key, data)
        except BaseException:
            self.garbage.append(key)
            raise
        budget.take(len(data), closed=closed)

    def _store_small(self, kind: str, name: str, data: bytes, budget: Budget) -> None:
        """Upload a small object in place of the one before, unless that has the same bytes.

        Files that end with their own CRC-32C all have the same one as a whole: it tells nothing of them.
        """
        before, digest = self._small[kind], blake2b(data).digest()
        if self._digests.get(kind) == digest:
            return
        self._put(name, data, budget)
        self._small[kind], self._digests[kind] = RemoteObject(name, len(data), crc32c(data)), digest
        if before is not None:
            self.garbage.append(f"{self._key}/{before.name}")

    def _store_state(self, kind: str, names: tuple[str, ...], view: LogView, budget: Budget) -> None:
        """Upload the newest of two generations of a file that the moment covers.

        One that goes beyond the moment would tell of frames that the copy does not have.
        """
        best: tuple[int, bytes] | None = None
        for name in names:
            try:
                data = read_file(self._disk, f"{self._folder}/{name}")
            except NoSuchFile:
                continue
            generation = _generation_within(data, self._folder, view)
            if generation is not None and (best is None or generation > best[0]):
                best = generation, data
        if best is not None:
            self._store_small(kind, self._name("state"), best[1], budget)

    def _store_manifest(self, budget: Budget) -> None:
        if self._manifest_of != tuple(self._segments.values()):
            segments = tuple(self._segments[base] for base in sorted(self._segments))
            self._store_small("manifest", self._name("manifest"), seal(Manifest(segments=segments)), budget)
            self._manifest_of = tuple(self._segments.values())


def _generation_within(data: bytes, folder: str, view: LogView) -> int | None:
    """Return the generation of a checkpoint or snapshot; None if it is not valid or beyond the moment."""
    checkpoint = own_checkpoint(data, folder)
    if checkpoint is not None:
        return checkpoint.generation if checkpoint.sequence <= view.durable_sequence else None
    snapshot = decode_snapshot(data)
    if snapshot is not None and snapshot.version <= view.next_version:
        return snapshot.generation
    return None
