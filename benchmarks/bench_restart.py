"""The start after SIGKILL, and the longest turns beside much data: `python -m benchmarks.bench_restart`.

    --vnodes 16 --mib 1024     1 GiB of 1 KB batches on each of 16 vnodes
    --vnodes 2 --mib 5120      10 GiB on 2
    --turns SECONDS            afterwards clients produce, read everywhere and ask for offsets by time

The data is written through the engine in this process, without waiting for the disk, and the process then
leaves it as a killed server does: no footer, no checkpoint, the last frames in the page cache.  `serve` is
started on it and killed as soon as it is ready, some times; ready is its own line, acknowledged the first
answer to a producer.  `--directory` keeps the data, and uses what an earlier run kept.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.broker import HOST, free_port
from compat_tests.kawal_broker import KAWAL, READY
from compat_tests.process import ServerProcess
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create
from wal.disk import OsDisk
from wal.os_file import OsFile

TOPIC: Final = "bulk"
IDLE: Final = "idle"
"""A topic that is written at the beginning only: reads at its end look for later segments."""
LARGE_FRAME: Final = 500
AT_THE_END: Final = 40_000
"""So many batches are written in frames of the size asked for: more than a checkpoint lets a start read."""
TURN_LIMIT_MS: Final = 5
SLOW_TURN: Final = re.compile(r"turn of the event loop took long.* turn_ms=(\d+) cpu_ms=(\d+) work=(\S+)")


class UnsyncedFile(OsFile):
    """A file whose syncs do nothing: a killed process leaves the page cache as it is."""

    __slots__ = ()

    def sync(self) -> None:
        """Leave the bytes to the page cache."""


class UnsyncedDisk(OsDisk):
    """The disk of the process that writes the data."""

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> OsFile:
        """Open, for writing without syncs."""
        file = super().open(path, create=create, exclusive=exclusive, read_only=read_only)
        return UnsyncedFile(path, file.descriptor)

    def sync_directory(self, directory: str) -> None:
        """Leave the names to the page cache."""


class Shape(NamedTuple):
    """The data that is written."""

    vnodes: int
    mib: int
    batch_bytes: int
    batches_per_frame: int


def build(directory: Path, shape: Shape) -> None:
    """Write the data, and leave it as a killed server does, shortly before the next checkpoint."""
    gateway = Gateway(
        UnsyncedDisk(),  # type: ignore[arg-type]  # any disk does
        log_dirs=str(directory),
        kawal_vnodes=shape.vnodes,
    )
    client = gateway.client()
    for name in (TOPIC, IDLE):
        create(client, name, shape.vnodes, **{"retention.ms": "-1"})
    for index in range(shape.vnodes):
        _fill(gateway, index, shape)
    gateway.broker.store.release()


def _fill(gateway: Gateway, index: int, shape: Shape) -> None:
    """Write one vnode's share; `job.run` writes and, on this disk, does not sync."""
    value = random.Random(index).randbytes(shape.batch_bytes - 80)
    template = batch(value, timestamp_ms=gateway.now_ms)
    idle, bulk = (gateway.partition(name, index) for name in (IDLE, TOPIC))
    vnode = bulk.vnode
    vnode.log.append(idle.stream_id, bytearray(template))
    left = (shape.mib << 20) // shape.batch_bytes
    while left > 0 or vnode.log._maintenance.cost_ns < 0.95 * vnode.log.options.checkpoint_ns:
        # What lies below the last checkpoint is written in larger frames, to be done sooner.
        count = LARGE_FRAME if left > AT_THE_END else shape.batches_per_frame
        for _ in range(count):
            vnode.log.append(bulk.stream_id, bytearray(template))
        left -= count
        gateway.now_ms += 1
        gateway.finish([(vnode, job) for job in vnode.begin_jobs(gateway.now_ms)])


class Server:
    """The real server on the data."""

    def __init__(self, directory: Path, log: Path) -> None:
        self.port = free_port()
        command = [KAWAL, "serve", "--listen", f"{HOST}:{self.port}", "--data", str(directory)]
        command += ["--http", "none", "--set", f"kawal.loop.turn.log.ms={TURN_LIMIT_MS}"]
        command += ["--set", "kawal.console.listeners=none"]
        self.began = time.monotonic()
        self.process = ServerProcess(command, log_path=log, environment={})
        self.process.wait_for_line(READY, within_seconds=300)
        self.ready_seconds = time.monotonic() - self.began

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def acknowledged_seconds(self) -> float:
        """Produce one record and return when it was acknowledged, from the start of the process."""
        producer = Producer({"bootstrap.servers": f"{HOST}:{self.port}", "acks": "all", "linger.ms": 0})
        producer.produce(TOPIC, b"first", partition=0)
        assert producer.flush(60) == 0
        return time.monotonic() - self.began

    def slow_turns(self) -> list[tuple[int, int, str]]:
        """Return duration, processor time (ms) and work of every turn above the limit."""
        return [(int(a), int(b), work) for a, b, work in SLOW_TURN.findall(self.process.output())]


def starts(directory: Path, log: Path, rounds: int) -> None:
    """Start, kill as soon as it is ready, and print the times."""
    ready, cpu = [], []
    for _ in range(rounds):
        server = Server(directory, log)
        ready.append(server.ready_seconds)
        cpu.append(server.cpu_seconds)
        server.process.kill()
    server = Server(directory, log)
    acknowledged = server.acknowledged_seconds()
    server.process.kill()
    print(f"ready {_shown(ready)} s, processor {_shown(cpu)} s, first acknowledgement {acknowledged:.2f} s")


def _shown(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.2f} (at most {max(seconds):.2f})"


def turns(directory: Path, log: Path, vnodes: int, seconds: float) -> None:
    """Let clients work beside the data, and print the turns that took more than the limit."""
    server = Server(directory, log)
    address = f"{HOST}:{server.port}"
    ends = time.monotonic() + seconds
    workers = [
        threading.Thread(target=work, args=(address, vnodes, ends))
        for work in (_produce, _read_old, _read_ends, _look_up_times)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    slow = sorted(server.slow_turns(), key=lambda turn: -turn[1])
    server.process.terminate(within_seconds=60)
    print(f"{len(slow)} turns above {TURN_LIMIT_MS} ms of processor or {10 * TURN_LIMIT_MS} ms of time")
    for duration_ms, cpu_ms, work in slow[:8]:
        print(f"    {cpu_ms} ms of processor, {duration_ms} ms of time: {work}")


def _produce(address: str, vnodes: int, ends: float) -> None:
    producer = Producer({"bootstrap.servers": address, "linger.ms": 1, "batch.size": 2_000})
    while time.monotonic() < ends:
        producer.produce(TOPIC, bytes(1_000), partition=random.randrange(vnodes))
        producer.poll(0)
        time.sleep(0.001)
    producer.flush(30)


def _consumer(address: str) -> Consumer:
    return Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False})


def _read_old(address: str, vnodes: int, ends: float) -> None:
    """Read from places all over the data: each needs an index and checks bytes for the first time."""
    consumer = _consumer(address)
    while time.monotonic() < ends:
        partition = random.randrange(vnodes)
        low, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=30)
        consumer.assign([TopicPartition(TOPIC, partition, random.randrange(low, high))])
        consumer.consume(500, timeout=1)
    consumer.close()


def _read_ends(address: str, vnodes: int, ends: float) -> None:
    """Read what is idle, to the end, again and again."""
    while time.monotonic() < ends:
        consumer = _consumer(address)
        consumer.assign([TopicPartition(IDLE, partition, 1) for partition in range(vnodes)])
        consumer.consume(1, timeout=0.5)
        consumer.close()


def _look_up_times(address: str, vnodes: int, ends: float) -> None:
    consumer = _consumer(address)
    while time.monotonic() < ends:
        when = random.randrange(1_700_000_000_000, 1_700_001_000_000)
        consumer.offsets_for_times([TopicPartition(TOPIC, n, when) for n in range(vnodes)], timeout=30)
        time.sleep(0.05)
    consumer.close()


def main() -> int:
    """Build, start, kill and print."""
    options = _options()
    shape = Shape(options.vnodes, options.mib, options.batch, options.frame)
    directory = options.directory or Path(tempfile.mkdtemp(prefix="kawal-restart-"))
    directory.mkdir(parents=True, exist_ok=True)
    data, log = directory / "data", directory / "server.log"
    try:
        if not data.exists():
            began = time.monotonic()
            build(data, shape)
            print(f"built {shape} in {time.monotonic() - began:.0f} s", flush=True)
        starts(data, log, options.rounds)
        if options.turns:
            turns(data, log, shape.vnodes, options.turns)
    finally:
        if options.directory is None:
            shutil.rmtree(directory)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_restart",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--vnodes", type=int, default=16)
    parser.add_argument("--mib", type=int, default=1024, help="of data for each vnode")
    parser.add_argument("--batch", type=int, default=1000, help="bytes of a batch")
    parser.add_argument("--frame", type=int, default=20, help="batches in a frame")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--directory", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
