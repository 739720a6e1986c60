"""The common ground of the log's tests: batches, frames, files, initial states, and jobs run at once."""

from __future__ import annotations

import struct
from collections.abc import Callable

from crc32c import crc32c

from wal.commit import Advanced
from wal.disk import Disk
from wal.format import ENTRY, Entry, EntryKind
from wal.frame import OpenFrame, Run
from wal.jobs import SyncJob
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call
from wal.options import LogOptions
from wal.reader import ReadResult
from wal.segment import FileRange
from wal.state import LogState
from wal.stream import Stream
from wal.stream_producers import ProducerStamp

PREFIX = struct.Struct(">qiibIhiqqqhii")
DIRECTORY = "vnode-0"


def batch(
    records: int = 1,
    *,
    body: bytes = b"body",
    timestamp: int = 1_000,
    producer: tuple[int, int, int] = (-1, -1, -1),
    attributes: int = 0,
) -> bytearray:
    """Return a v2 batch as it arrives: opaque body, right CRC."""
    data = bytearray(
        PREFIX.pack(
            0, 49 + len(body), 0, 2, 0, attributes, records - 1, timestamp, timestamp, *producer, records
        )
        + body
    )
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return data


def add_batch(frame: OpenFrame, stream: Stream, data: bytearray) -> None:
    """Put a batch of `batch` into a frame at the stream's next offset, as an append does."""
    count = int.from_bytes(data[23:27], "big") + 1
    base, version = stream.next_offset, frame.next_version
    struct.pack_into(">q", data, 0, base)
    timestamp = int.from_bytes(data[35:43], "big", signed=True)
    crc = int.from_bytes(data[17:21], "big")
    entry = Entry(stream.stream_id, EntryKind.DATA, 0, 0, base, count, len(data), timestamp, crc,
                  version - frame.base_version)  # fmt: skip
    run = frame.runs.setdefault(stream.stream_id, Run(stream))
    run.add(ENTRY.pack(*entry), data, base, base + count, len(data), timestamp, version)
    stream.next_offset = base + count
    frame.entry_count += 1
    frame.payload_bytes += len(data)
    frame.next_version += count


def frame_bytes(
    *batches: bytearray, sequence: int, durable: int = 0, base_version: int = 0, offset: int = 0, seed: int
) -> bytes:
    """Return a data frame of stream 1 with its bytes in a segment."""
    frame, stream = OpenFrame(base_version), Stream(1, offset)
    for data in batches:
        add_batch(frame, stream, data)
    return b"".join(frame.build(sequence=sequence, durable_sequence=durable, now_ms=0, seed=seed).buffers)


def put(disk: Disk, path: str, data: bytes) -> None:
    """Make a file of these bytes, or replace those of a file."""
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write_at(0, [data])
    file.close()


def calls_of(disk: MemoryDisk, kind: str) -> list[Call]:
    """Return a list that fills with the calls of a kind from here on."""
    calls: list[Call] = []
    disk.faults.append(lambda call: calls.append(call) if call.kind == kind else None)
    return calls


def stamp(
    first: int, count: int = 1, *, producer: int = 7, epoch: int = 0, transactional: bool = False
) -> ProducerStamp:
    """Return the stamp of a batch with these sequence numbers."""
    return ProducerStamp(producer, epoch, first, count, transactional)


def new_state(disk: Disk, options: LogOptions | None = None, *, now_ms: int = 0) -> LogState:
    """Make DIRECTORY and return the state of an empty log in it."""
    disk.make_directory(DIRECTORY)
    disk.sync_directory("")
    return LogState(disk, DIRECTORY, options or small_options(), now_ms)


def open_log(disk: Disk, options: LogOptions | None = None, *, now_ms: int = 0) -> VnodeLog:
    """Open the log in DIRECTORY, which is made when it is missing."""
    if not disk.exists(DIRECTORY):
        disk.make_directory(DIRECTORY)
        disk.sync_directory("")
    return VnodeLog.open(disk, DIRECTORY, options=options or small_options(), now_ms=now_ms)


def small_options(**changes: object) -> LogOptions:
    """Return options for small disks: segments of 16 KiB, no reserve."""
    values: dict[str, object] = {"segment_bytes": 16 << 10, "min_free_bytes": 0, "frame_bytes_max": 8 << 10}
    return LogOptions(**{**values, **changes})  # type: ignore[arg-type]


def commit(
    log: VnodeLog, now_ms: int = 0, *, before_synced: Callable[[SyncJob], None] | None = None
) -> list[Advanced]:
    """Run SyncJobs until nothing is pending; report errors of the disk to the log."""
    advanced: list[Advanced] = []
    while (job := log.begin_sync(now_ms)) is not None:
        try:
            job.run()
        except OSError as error:
            log.failed(job, error, now_ms)
            break
        if before_synced is not None:
            before_synced(job)
        advanced += log.synced(job, now_ms)
    return advanced


def maintain(log: VnodeLog, now_ms: int = 0) -> list[str]:
    """Run all maintenance that is due; return the names of the jobs."""
    names = []
    while (job := log.begin_maintenance(now_ms)) is not None:
        job.run()
        log.maintained(job, now_ms)
        names.append(type(job).__name__)
    return names


def retire(log: VnodeLog, now_ms: int) -> int:
    """Ask for retirement as the timer does, until there is nothing more; return how many segments went."""
    total = 0
    for _ in range(4):
        total += log.retire_segments()
        commit(log, now_ms)
        maintain(log, now_ms)
    return total


def content(result: ReadResult) -> bytes:
    """Return the bytes of a read."""
    return b"".join(part.read() if isinstance(part, FileRange) else bytes(part) for part in result.parts)


def read_all(log: VnodeLog, stream_id: int, max_bytes: int = 1 << 20) -> bytes:
    """Return everything visible of a stream, read in steps."""
    offset, parts = log.log_start(stream_id), []
    while offset < log.high_watermark(stream_id):
        result = log.read(stream_id, offset, max_bytes)
        assert result.next_offset > offset
        data = content(result)
        assert len(data) == result.size_bytes
        parts.append(data)
        offset = result.next_offset
    return b"".join(parts)
