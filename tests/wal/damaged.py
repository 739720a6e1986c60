"""Logs to damage and ways to do it, shared by the tests of recovery, repair, scrub and inspection."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.options import LogOptions
from wal.repair import RepairReport, repair

OPTIONS = small_options(segment_bytes=4 << 10, frame_bytes_max=2 << 10, seal_interval_ms=0)
CHECKPOINTED = small_options(segment_bytes=4 << 10, checkpoint_ns=140_000, seal_interval_ms=0)


def finished_log(options: LogOptions = OPTIONS, *, seed: int = 1) -> tuple[MemoryDisk, dict[int, bytes]]:
    """Return a log of several segments, idle long enough to be sealed and witnessed, then killed."""
    disk = MemoryDisk()
    log = open_log(disk, options)
    chance = random.Random(seed)
    sent: dict[int, bytes] = {}
    for number in range(30):
        for _ in range(chance.randrange(1, 4)):
            stream_id = chance.randrange(3)
            data = batch(chance.randrange(1, 5), body=chance.randbytes(chance.choice((10, 100, 400))))
            log.append(stream_id, data)
            sent[stream_id] = sent.get(stream_id, b"") + bytes(data)
        commit(log, number)
    commit(log, 1_000)
    maintain(log, 5_000)
    disk.restart()
    return disk, sent


def wal_files(disk: MemoryDisk) -> list[str]:
    """Return the segments, oldest first."""
    return [f"{DIRECTORY}/{name}" for name in disk.list(DIRECTORY) if name.endswith(".wal")]


def swap_segments(disk: MemoryDisk) -> None:
    """Give the second and the third segment the name of the other."""
    first, second = wal_files(disk)[1:3]
    disk.rename(first, "aside")
    disk.rename(second, first)
    disk.rename("aside", second)


def change(disk: MemoryDisk, path: str, edit: Callable[[bytearray], bytes]) -> MemoryDisk:
    """Return a copy of the disk with one file changed."""
    after = disk.crash(KEEP_ALL)
    file = after.open(path)
    data = edit(bytearray(file.read_at(0, file.size())))
    file.truncate(0)
    file.write_at(0, [data])
    file.close()
    return after


def torn_log(body: bytes, *, options: LogOptions = OPTIONS, disk: MemoryDisk | None = None) -> MemoryDisk:
    """Return a log of one batch, killed before it could acknowledge a second one that holds `body`."""
    disk = disk or MemoryDisk()
    log = open_log(disk, options)
    log.append(1, batch(body=b"first"))
    commit(log)
    log.append(1, batch(body=body))
    job = log.begin_sync(0)
    assert job is not None
    job.run()
    disk.restart()
    return disk


def flip(chance: random.Random) -> Callable[[bytearray], bytes]:
    """Return an edit that flips a bit."""

    def edit(data: bytearray) -> bytes:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(data)

    return edit


def damage(chance: random.Random) -> Callable[[bytearray], bytes]:
    """Return an edit that flips a bit, zeroes sectors, or cuts the file."""

    def edit(data: bytearray) -> bytes:
        kind, place = chance.randrange(3), chance.randrange(len(data))
        if kind == 0:
            data[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            start, size = place // 512 * 512, 512 * chance.randrange(1, 5)
            data[start : start + size] = bytes(len(data[start : start + size]))
        else:
            del data[place:]
        return bytes(data)

    return edit


def mend(disk: MemoryDisk, options: LogOptions = OPTIONS) -> RepairReport:
    """Repair the log and give up damaged bytes."""
    return repair(disk, DIRECTORY, options=options, now_ms=10_000, accept_loss=True)
