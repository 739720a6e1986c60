"""A scanned frame has the same extents as when it was written."""

from __future__ import annotations

from tests.wal.logs import batch, commit, open_log
from wal.format import FIRST_FRAME_POSITION
from wal.index import EXTENT_BYTES, ActiveIndex
from wal.indexing import index_frame
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.scan import Scan


def test_what_a_scan_found_is_indexed_as_it_was_when_written() -> None:
    disk = MemoryDisk()
    log = open_log(disk, LogOptions(min_free_bytes=0, segment_bytes=4 << 20, seal_interval_ms=0))
    for stream_id, size in ((1, EXTENT_BYTES - 200), (2, 10), (1, 300), (1, EXTENT_BYTES + 1), (1, 5)):
        log.append(stream_id, batch(2, body=bytes(size), timestamp=size))
    log.append_meta(2, b"note")
    commit(log)
    log.append_meta(3, b"only a note")
    commit(log)
    commit(log, 5_000)
    (segment,) = log._state.segments.all
    written, found = segment.active_index, ActiveIndex()

    file = segment.open_shared(disk).file
    for frame in Scan(file, seed=segment.seed, position=FIRST_FRAME_POSITION, sequence=0):
        index_frame(found, frame)

    assert found.by_stream == written.by_stream
    assert len(found.base) == 5
    for name in ("base", "count", "position", "size", "max_timestamp", "frame_version", "frame_position"):
        assert getattr(found, name) == getattr(written, name), name
    assert found.version == written.version
