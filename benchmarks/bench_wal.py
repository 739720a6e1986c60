"""The cost of the write-ahead log: `python -m benchmarks.bench_wal [--directory DIR]`.

Rounds of group commit on a real disk, stage by stage, then sequential reads.  The loop pays append, build and
done; write and sync happen in a thread.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import environment
from benchmarks.clients import wire
from benchmarks.environment import REPOSITORY
from wal.disk import OsDisk
from wal.log import VnodeLog
from wal.options import LogOptions

WORKING_DIRECTORY = REPOSITORY / ".cache" / "benchmarks"
NEEDED_BYTES = 3_000_000_000
ROUNDS_MAX = 400
ROUND_BYTES_MAX = 400_000_000
READ_BYTES = 1 << 20
KIB = 1 << 10


class Shape(NamedTuple):
    """The data that one round writes."""

    streams: int
    batches_per_stream: int
    batch: bytes

    @property
    def size_bytes(self) -> int:
        """The number of bytes of a round."""
        return self.streams * self.batches_per_stream * len(self.batch)

    @property
    def title(self) -> str:
        """The shape in words."""
        batches = "" if self.batches_per_stream == 1 else f"{self.batches_per_stream} x "
        return f"{self.streams:,} stream{'s' * (self.streams > 1)}, {batches}{len(self.batch) / KIB:.1f} KiB"


class Round(NamedTuple):
    """The seconds of each stage of one round."""

    append: float
    build: float
    write_and_sync: float
    done: float


ONE_KIB = wire.batch([b"x" * (KIB - 70)])
LARGE = wire.batch([b"x" * KIB] * 127)
SHAPES = (
    Shape(1, 1, ONE_KIB),
    Shape(100, 1, ONE_KIB),
    Shape(1_000, 1, ONE_KIB),
    Shape(10_000, 1, ONE_KIB),
    Shape(1, 8, LARGE),
    Shape(8, 1, LARGE),
)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_wal", description=__doc__)
    parser.add_argument("--directory", type=Path, default=WORKING_DIRECTORY, help="on the disk to measure")
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    environment.check_directory(directory, needed_bytes=NEEDED_BYTES)
    heads = ("append µs/batch", "build µs", "write+sync ms", "done µs", "MB/s")
    print(f"{'a round of group commit':<30}" + "".join(f"{head:>16}" for head in heads))
    for shape in SHAPES:
        with_log = _Log(directory / "wal")
        try:
            print(_round_line(shape, with_log.rounds(shape)))
        finally:
            with_log.remove()
    print(f"\n{'sequential read, 1 MiB a call':<30}{'µs/call':>16}{'parts/call':>16}")
    for shape in (Shape(1, 8, LARGE), Shape(100, 1, ONE_KIB)):
        with_log = _Log(directory / "wal")
        try:
            with_log.rounds(shape)
            print(_read_line(shape, with_log.log))
        finally:
            with_log.remove()


class _Log:
    """A log in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir()
        self._directory = directory
        self.log = VnodeLog.open(OsDisk(), str(directory), options=LogOptions(), now_ms=_now_ms())

    def rounds(self, shape: Shape) -> list[Round]:
        """Commit round after round, with maintenance between them, off the clock."""
        count = min(ROUNDS_MAX, max(10, ROUND_BYTES_MAX // shape.size_bytes))
        return [self._round(shape) for _ in range(count)]

    def remove(self) -> None:
        """Close the log and delete its files."""
        self.log.close(_now_ms())
        shutil.rmtree(self._directory)

    def _round(self, shape: Shape) -> Round:
        log = self.log
        arrived = [
            (stream, bytearray(shape.batch))
            for stream in range(shape.streams)
            for _ in range(shape.batches_per_stream)
        ]
        started = time.perf_counter()
        for stream, batch in arrived:
            log.append(stream, batch)
        appended = time.perf_counter()
        job = log.begin_sync(_now_ms())
        built = time.perf_counter()
        assert job is not None
        job.run()
        written = time.perf_counter()
        log.synced(job, _now_ms())
        done = time.perf_counter()
        self._finish()
        return Round(appended - started, built - appended, written - built, done - written)

    def _finish(self) -> None:
        """Commit what did not fit into the frame, and do the maintenance that is due."""
        while self.log.open_frame_bytes and (job := self.log.begin_sync(_now_ms())):
            job.run()
            self.log.synced(job, _now_ms())
        while work := self.log.begin_maintenance(_now_ms()):
            work.run()
            self.log.maintained(work, _now_ms())


def _round_line(shape: Shape, rounds: Sequence[Round]) -> str:
    stages = [median(stage) for stage in zip(*rounds, strict=True)]
    append, build, write_and_sync, done = stages
    batches = shape.streams * shape.batches_per_stream
    speed = shape.size_bytes / sum(stages) / 1e6
    figures = (append / batches * 1e6, build * 1e6, write_and_sync * 1e3, done * 1e6, speed)
    return f"{shape.title:<30}" + "".join(f"{figure:>16.2f}" for figure in figures)


def _read_line(shape: Shape, log: VnodeLog) -> str:
    calls, parts, offset = 0, 0, 0
    end = log.high_watermark(0)
    started = time.perf_counter()
    while offset < end:
        result = log.read(0, offset, READ_BYTES)
        offset = result.next_offset
        calls += 1
        parts += len(result.parts)
    per_call = (time.perf_counter() - started) / calls
    return f"{shape.title:<30}{per_call * 1e6:>16.1f}{parts / calls:>16.1f}"


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


if __name__ == "__main__":
    main()
