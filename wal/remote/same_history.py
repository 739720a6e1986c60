"""Whether a data directory goes on where its copy ends, looked at before the copy is taken over.

    older             the copy ends with a frame that the directory does not have
    another history   the newest segment of the copy is not the directory's, or has other bytes there

The second comes about when a directory was restored from the copy and used, and the one it was copied from is
started again: it may have as many frames, but others. A salt belongs to one file, and what lies before a
segment was closed when that was made, so the newest segment tells for all of them.

Damage on the disk is no other history: segments that are in the copy stay there, and the next round names it.
"""

from __future__ import annotations

from crc32c import crc32c

from wal.backup_pieces import measured
from wal.disk import Disk, File, NoSuchFile
from wal.errors import OtherWorkers, StoreError
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.log_view import LogView
from wal.remote.formats import Cut, LogCut, Manifest
from wal.remote.places import Share, workers_text
from wal.segment import segment_name

PIECE_BYTES = 8 << 20


class RemoteAhead(StoreError):
    """The copy has what the data directory does not: it must not be replaced."""


def refuse_other_workers(cut: Cut, share: Share, *, copy: str) -> None:
    """Check that a copy is that of the worker which is to keep it.  Raises: OtherWorkers.

    Which worker has a log follows from their number: with another one, the copies of all would not have all
    logs, or some of them twice, each at another moment.
    """
    if cut.share == share:
        return
    if cut.workers == share.workers:
        raise OtherWorkers(
            f"{copy} is the copy of worker {cut.worker}, and this is worker {share.number}: give"
            " kawal.remote.store the place of all copies; this one was left as it is"
        )
    raise OtherWorkers(
        f"{copy} is a copy by {workers_text(cut.workers)}, and this server has {workers_text(share.workers)}"
        f" (kawal.workers): the copy was left as it is; start with --workers {cut.workers}, or give"
        " kawal.remote.store another place"
    )


Part = tuple[int, int, int]
"""Position, size and CRC of some bytes of a segment."""


def refuse_another_history(
    disk: Disk, folder: str, view: LogView, cut: LogCut, manifest: Manifest | None, *, copy: str
) -> None:
    """Look at a log and its part of a copy; `copy` names that.  Raises: RemoteAhead; DiskError."""
    if cut.durable_sequence > view.durable_sequence:
        raise RemoteAhead(
            f"{folder} ends with frame {view.durable_sequence - 1}, but its copy in {copy} with frame "
            f"{cut.durable_sequence - 1}: the directory is older than the copy, which was left as it is; "
            "restore the directory from it with 'kawal restore', or give the server another prefix"
        )
    base, salt, parts = _newest(cut, manifest)
    # What retention has removed since cannot be compared.
    if parts and view.bases and base >= view.bases[0] and not _has(disk, folder, view, base, salt, parts):
        raise RemoteAhead(
            f"{folder} has another history than its copy in {copy}: {segment_name(base)} has other bytes "
            "there. Another server has written to the copy, or a repair gave up frames. The copy was left as "
            "it is; restore a directory from it with 'kawal restore', or give the server another prefix"
        )


def _newest(cut: LogCut, manifest: Manifest | None) -> tuple[int, int, list[Part]]:
    """Return base version and salt of the newest segment of a copy that has frames, and its bytes."""
    if cut.chunks and cut.chunks[-1].end > FIRST_FRAME_POSITION:
        parts = [(chunk.position, chunk.size_bytes, chunk.crc) for chunk in cut.chunks]
        return cut.base_version, cut.salt, parts
    if manifest is None or not manifest.segments:
        return 0, 0, []
    segment = max(manifest.segments, key=lambda segment: segment.base_version)
    return segment.base_version, segment.salt, [(0, segment.size_bytes, segment.crc)]


def _has(disk: Disk, folder: str, view: LogView, base: int, salt: int, parts: list[Part]) -> bool:
    """Whether a directory has a segment with these bytes, or one that is damaged."""
    if base in view.remote:
        return view.remote[base].salt == salt
    try:
        file = disk.open(f"{folder}/{segment_name(base)}", read_only=True)
    except NoSuchFile:
        return base in view.bases
    try:
        header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
        if header is not None and header.salt == salt and all(_crc(file, *part) for part in parts):
            return True
        return _is_damaged(file, view)
    finally:
        file.close()


def _crc(file: File, position: int, size_bytes: int, crc: int) -> bool:
    """Whether these bytes of a file have this CRC."""
    found = 0
    for start in range(0, size_bytes, PIECE_BYTES):
        found = crc32c(file.read_at(position + start, min(PIECE_BYTES, size_bytes - start)), found)
    return found == crc


def _is_damaged(file: File, view: LogView) -> bool:
    """Whether a frame that was synced cannot be read, so that nothing can be said."""
    piece = measured(file, skim=False)
    return piece is None or not (piece.finished or piece.next_sequence >= view.durable_sequence)
