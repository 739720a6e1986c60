"""A small store with damage in one place: what a server shows of it is what was acknowledged, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, offset_of, send, values
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL

SETTINGS: dict[str, Any] = {"kawal_vnodes": 2, "kawal_segment_bytes": 4_096, "kawal_min_free_bytes": 0}
SECTOR_BYTES = 512
STALE_AFTER = 5
"""The round after which stale sectors are taken."""
End = Literal["stopped", "killed", "killed and started"]

Shown = dict[tuple[str, int], list[bytes] | str]
"""The records of every partition, or the error that a reader gets."""

Edit = Callable[[bytearray], bytes]


class Made(NamedTuple):
    """A small store."""

    disk: MemoryDisk
    expected: Shown
    earlier: MemoryDisk
    """The disk in the middle of its life: sectors of it are stale now."""


def made(end: End) -> Made:
    """Return the disk of a small store that ended in this way, and what it showed before."""
    gateway = Gateway(**SETTINGS)
    client = gateway.client()
    for name, partitions in (("a", 2), ("gone", 1), ("b", 1)):
        create(client, name, partitions)
    for number in range(12):
        value = b"%d" % number * 60
        send(client, "a", batch(value), partition=number % 2)
        send(client, "b", batch(value), partition=0)
        gateway.advance(150)
        if number == STALE_AFTER:
            earlier = gateway.disk.crash(KEEP_ALL)
    client.call(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1_000), 5)
    gateway.advance(3_000)
    expected = shown(gateway)
    assert all(isinstance(records, list) and records for records in expected.values())
    if end == "stopped":
        gateway.broker.begin_stop(gateway.now_ms)
        gateway.settle()
        gateway.broker.close(gateway.now_ms)
    else:
        gateway.disk = gateway.disk.crash(KEEP_ALL)
        if end == "killed and started":
            gateway.open_again()
            gateway.disk = gateway.disk.crash(KEEP_ALL)
    return Made(gateway.disk.crash(KEEP_ALL), expected, earlier)


def shown(gateway: Gateway) -> Shown:
    """Return all that a reader gets from a server."""
    client = gateway.client()
    found: Shown = {}
    for name, topic in gateway.broker.catalogue.by_name.items():
        for index in range(topic.partition_count):
            found[name, index] = _records(client, name, index)
    return found


def _records(client: Client, name: str, index: int) -> list[bytes] | str:
    records: list[bytes] = []
    ends = offset_of(client, name, -1, index)
    if ends.error_code:
        return f"error {ends.error_code}"
    while len(records) < ends.offset:
        answer = fetch(client, name, len(records), index)
        if answer.error_code:
            return f"error {answer.error_code}"
        more = values(answer.records)
        if not more:
            return "nothing more can be read"
        records += more
    return records


def verdict(disk: MemoryDisk, expected: Shown) -> str:
    """Return "refused" or "as it was", or which partitions have errors.

    Raises: AssertionError when a topic, a partition or a record is missing, or another one, without an error.
    """
    try:
        gateway = Gateway(disk, **SETTINGS)
    except (StoreError, DiskError):
        return "refused"
    found = shown(gateway)
    assert found.keys() == expected.keys(), f"{found.keys()} instead of {expected.keys()}"
    told = []
    for place, records in found.items():
        log = gateway.partition(*place).vnode.log
        if records == expected[place]:
            continue
        # A reader that comes to the damage gets an error, or the vnode refuses writes and is named.
        assert isinstance(records, str) or log.damage is not None, f"{place}: {records} without an error"
        if not isinstance(records, str):
            assert records == expected[place][: len(records)], f"{place} shows other records"
        told.append(f"{place[0]}-{place[1]}")
    return f"errors in {', '.join(told)}" if told else "as it was"


def written(disk: MemoryDisk) -> list[tuple[str, int]]:
    """Return every file that holds something, with its size without zeros at the end."""
    sizes = [(path, len(disk.contents(path).rstrip(b"\0"))) for path in sorted(disk.files())]
    return [(path, size) for path, size in sizes if size]


def changed(disk: MemoryDisk, path: str, edit: Edit) -> MemoryDisk:
    """Return a copy of the disk with one file changed."""
    after = disk.crash(KEEP_ALL)
    file = after.open(path)
    data = edit(bytearray(file.read_at(0, file.size())))
    file.truncate(0)
    file.write_at(0, [data])
    file.sync()
    file.close()
    return after


Damages = Iterator[tuple[str, Callable[[], MemoryDisk]]]
"""What is damaged, and a function that returns the disk with that."""


def damages(store: Made) -> Damages:
    """Yield every damage state: bits, sectors (zeroed, stale, swapped), truncations, files."""
    yield from sector_damages(store)
    yield from file_damages(store.disk)
    disk = store.disk
    for path, size in written(disk):
        for position in range(size):
            for bit in range(8):
                place = f"bit {bit} of byte {position} of {path}"
                yield place, partial(_flipped, disk, path, position, bit)
        for length in range(size):
            yield f"{path} cut at {length}", partial(_cut, disk, path, length)


def sector_damages(store: Made) -> Damages:
    """Yield the states with one sector that is zeroed, is stale, or has changed places with another."""
    disk, earlier = store.disk, store.earlier
    for path, size in written(disk):
        data = disk.contents(path)
        old = earlier.contents(path) if earlier.exists(path) else b""
        sectors = [data[start : start + SECTOR_BYTES] for start in range(0, size, SECTOR_BYTES)]
        for number, sector in enumerate(sectors):
            start = number * SECTOR_BYTES
            yield f"sector at {start} of {path} zeroed", partial(_put, disk, path, start, bytes(len(sector)))
            stale = old[start : start + SECTOR_BYTES]
            if stale and stale != sector:
                yield f"sector at {start} of {path} stale", partial(_put, disk, path, start, stale)
            for other, content in enumerate(sectors[:number]):
                if content != sector and len(content) == len(sector):
                    place = other * SECTOR_BYTES
                    what = f"sectors at {place} and {start} of {path} swapped"
                    yield what, partial(_put, disk, path, place, sector, start, content)


def file_damages(disk: MemoryDisk) -> Damages:
    """Yield the states with a file that is missing, has a twin, or has changed places with another."""
    paths = [path for path, _ in written(disk)]
    for path in paths:
        yield f"{path} is missing", partial(_without, disk, path)
        directory, _, name = path.rpartition("/")
        for twin in twins(name):
            yield (
                f"{path} doubled as {twin}",
                partial(_renamed, disk, {f"{directory}/{twin}": path, path: path}),
            )
        for other in paths:
            if other > path and other.rpartition(".")[2] == path.rpartition(".")[2]:
                swap = {path: other, other: path}
                yield f"{path} and {other} have changed places", partial(_renamed, disk, swap)


def twins(name: str) -> list[str]:
    """Return the names under which a copy of a file would be taken for one of its kind."""
    stem, _, suffix = name.partition(".")
    if stem.isdigit():
        return [f"{int(stem) + step:020d}.{suffix}" for step in (1, 1000)]
    return [f"checkpoint.{1 - int(suffix)}"] if stem == "checkpoint" else []


def _renamed(disk: MemoryDisk, contents: dict[str, str]) -> MemoryDisk:
    """Return a copy of the disk in which files have the contents of others."""
    after = disk.crash(KEEP_ALL)
    for path, source in contents.items():
        file = after.open(path, create=True)
        file.truncate(0)
        file.write_at(0, [disk.contents(source)])
        file.sync()
        file.close()
        after.sync_directory(path.rpartition("/")[0])
    return after


def _without(disk: MemoryDisk, path: str) -> MemoryDisk:
    after = disk.crash(KEEP_ALL)
    after.remove(path)
    return after


def _flipped(disk: MemoryDisk, path: str, position: int, bit: int) -> MemoryDisk:
    def edit(data: bytearray) -> bytes:
        data[position] ^= 1 << bit
        return bytes(data)

    return changed(disk, path, edit)


def _put(disk: MemoryDisk, path: str, *places: int | bytes) -> MemoryDisk:
    """Return a copy of the disk with bytes at positions of a file."""

    def edit(data: bytearray) -> bytes:
        for start, content in zip(places[::2], places[1::2], strict=True):
            assert isinstance(start, int)
            assert isinstance(content, bytes)
            data[start : start + len(content)] = content
        return bytes(data)

    return changed(disk, path, edit)


def _cut(disk: MemoryDisk, path: str, length: int) -> MemoryDisk:
    return changed(disk, path, lambda data: bytes(data[:length]))
