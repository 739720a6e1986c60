"""Runs of a log on a disk that records them, and the check that every crash state of them must pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.wal.crash import CrashState, RecordingDisk
from tests.wal.logs import DIRECTORY, commit, open_log, small_options
from wal.disk import Disk
from wal.log import VnodeLog
from wal.options import LogOptions

OPTIONS = small_options(
    segment_bytes=4 << 10,
    frame_bytes_max=2 << 10,
    checkpoint_ns=280_000,
    seal_interval_ms=0,
    witness_ms=300,
    delete_delay_ms=1_000,
    tail_cache_bytes=4 << 10,
)

Promise = tuple[tuple[int, ...], ...]
"""(stream, log start, high watermark) of every stream, and what else a kind of run promises of it."""


@dataclass
class RecordedRun:
    """A log on a recording disk; each kind of run adds the batches sent to it."""

    options: LogOptions = OPTIONS
    disk: RecordingDisk = field(default_factory=RecordingDisk)
    dropped: set[int] = field(default_factory=set)
    now_ms: int = 0

    def __post_init__(self) -> None:
        self.log = open_log(self.disk, self.options)

    def commit(self) -> None:
        """Make everything durable, and promise it."""
        commit(self.log, self.now_ms)
        self.disk.trace.mark(self.promise())

    def promise(self) -> Promise:
        """Return what the run may be held to from now on."""
        return shown(self.log)

    def reopened(self, disk: Disk, promised: Promise) -> VnodeLog | None:
        """Recover, and check the ends of the streams; return None when the log had not been made."""
        if not disk.exists(DIRECTORY):
            assert not promised
            return None
        log = VnodeLog.open(disk, DIRECTORY, options=self.options, now_ms=self.now_ms)
        assert log.state == "OPEN", log.damage
        for stream_id, log_start, high_watermark, *_ in promised:
            if stream_id not in self.dropped or stream_id in log.streams():
                assert log.log_start(stream_id) >= log_start
                assert log.high_watermark(stream_id) >= high_watermark
        return log


def shown(log: VnodeLog) -> Promise:
    """Return the ends of all streams, which a reader may have seen."""
    return tuple(
        (stream_id, log.log_start(stream_id), log.high_watermark(stream_id))
        for stream_id in sorted(log.streams())
    )


def newest(state: CrashState) -> Promise:
    """Return the last promise before the crash."""
    return state.marks[-1] if state.marks else ()  # type: ignore[return-value]
