"""The part of the log with which segments leave the disk, once the object store was proved to have them.

    tierable(policy)    the segments that none of their streams wants on the disk
    tier(records)       of those, the ones whose objects were read back from the store and compared:
                        maintenance writes a durable record of each object, and then lets the file go

Whatever happens in between, one of the two has the bytes: the file stays until the record is durable, and the
record is made only after the proof. Reads, and starts, go by the record when there is no file.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence

from wal.block_cache import BlockCache
from wal.compaction import LogCompacting
from wal.jobs import CommitJob
from wal.locate import index_of
from wal.maintenance import Maintenance
from wal.remote_record import RemoteRecord
from wal.state import LogState
from wal.tierable import PolicyOf, TierSearch
from wal.unstored import FileSlice, LogPlace, place_of, slices


class LogTiering(LogCompacting):
    """The part of `VnodeLog` about segments in the object store."""

    storage: tuple[LogState, Maintenance]

    def __init__(self, state: LogState) -> None:
        super().__init__(state)
        self._tier_search = TierSearch(state)

    def tierable(self, policy_of: PolicyOf, *, wall_ms: int) -> Generator[None, None, list[int]]:
        """Return the segments that may leave the disk; pause now and then.  Raises: DiskError, WalError."""
        _, maintenance = self.storage
        older, _ = maintenance.mark_sequences
        found = yield from self._tier_search.steps(policy_of, wall_ms=wall_ms, mark_sequence=older)
        # As for segments that are retired: two checkpoints later no start needs them.
        maintenance.checkpoint_wanted |= self._tier_search.waits_for_mark
        return found

    def tier(self, records: Iterable[RemoteRecord]) -> None:
        """Let the files of these segments go: each object was read back, and has the segment's bytes.

        Those of an earlier call that have not gone yet stay: their proof is old by now.
        """
        self._state.to_tier = list(records)

    @property
    def directory(self) -> str:
        """The path of the log's directory."""
        return self._state.directory

    @property
    def place(self) -> LogPlace:
        """The end of the frames that count, in the log's files."""
        return place_of(self._state)

    @property
    def unstored(self) -> Sequence[CommitJob]:
        """With durability `remote`: the commits that are on the disk and do not count yet, oldest first."""
        return self._state.unstored

    def slices(self, since: LogPlace, job: CommitJob | None = None) -> list[FileSlice]:
        """Return the bytes from a place to the end of a commit in `unstored`, or to `place`.

        Raises: DiskError.
        """
        return slices(self._state, since, job)

    def hold_back(self, is_behind: bool) -> None:
        """Refuse ordinary appends with StoreBehind, or take them again."""
        self._state.behind = is_behind

    def read_through(self, blocks: BlockCache) -> None:
        """Read segments in the object store through these blocks from now on."""
        self._state.blocks = blocks

    def remote_usage(self) -> tuple[int, int]:
        """Return the number of segments that are in the object store only, and their bytes."""
        records = self._state.remote_records.values()
        return len(records), sum(record.size_bytes for record in records)

    def local_start(self, stream_id: int) -> int:
        """Return the first offset from which all of a stream is on the disk; may block for indexes."""
        stream = self._state.streams.get(stream_id)
        if stream is None:
            return 0
        return max(stream.log_start, self.end_in(stream_id, self._state.remote_records) or 0)

    def end_in(self, stream_id: int, bases: Collection[int]) -> int | None:
        """Return the end of a stream in the newest of these segments that has some of it; None without any.

        It may block for indexes.
        """
        for segment in reversed(self._state.segments.all):
            if segment.base_version in bases:
                offsets = index_of(self._state, segment).range_of(stream_id)
                if offsets is not None:
                    return offsets[1]
        return None
