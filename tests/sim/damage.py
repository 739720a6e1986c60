"""A small store with damage in one place: what a server shows of it is what was acknowledged, or an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID

from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetched, fetching, offsets_of, send, values
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL

SETTINGS: dict[str, Any] = {"kawal_vnodes": 2, "kawal_segment_bytes": 4_096, "kawal_min_free_bytes": 0}
STALE_AFTER = 5
"""The round after which stale sectors are taken."""
End = Literal["stopped", "killed", "killed and started"]

Place = tuple[str, int]
"""Topic and partition."""

Shown = dict[Place, list[bytes] | str]
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
    places = [
        (name, index)
        for name, topic in gateway.broker.catalogue.by_name.items()
        for index in range(topic.partition_count)
    ]
    found: Shown = {}
    ends: dict[Place, int] = {}
    for place, answer in zip(places, offsets_of(client, places, -1), strict=True):
        found[place] = f"error {answer.error_code}" if answer.error_code else []
        ends[place] = answer.offset
    while unread := _unread(found, ends):
        answers = fetched(client.call(fetching(unread), 12))
        for place in [place for place in found if place in answers]:
            answer = answers[place]
            more = values(answer.records) if not answer.error_code else []
            if more:
                found[place] = [*found[place], *more]
            else:
                code = answer.error_code
                found[place] = f"error {code}" if code else "nothing more can be read"
    return found


def _unread(found: Shown, ends: dict[Place, int]) -> dict[tuple[str | UUID, int], int]:
    """Return the partitions that can be read on, and from which offsets."""
    return {
        place: len(records)
        for place, records in found.items()
        if isinstance(records, list) and len(records) < ends[place]
    }


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


def renamed(disk: MemoryDisk, contents: dict[str, str]) -> MemoryDisk:
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


def without(disk: MemoryDisk, path: str) -> MemoryDisk:
    """Return a copy of the disk without a file."""
    after = disk.crash(KEEP_ALL)
    after.remove(path)
    return after


def flipped(disk: MemoryDisk, path: str, position: int, bit: int) -> MemoryDisk:
    """Return a copy of the disk with one bit of a file changed."""

    def edit(data: bytearray) -> bytes:
        data[position] ^= 1 << bit
        return bytes(data)

    return changed(disk, path, edit)


def put(disk: MemoryDisk, path: str, *places: int | bytes) -> MemoryDisk:
    """Return a copy of the disk with bytes at positions of a file."""

    def edit(data: bytearray) -> bytes:
        for start, content in zip(places[::2], places[1::2], strict=True):
            assert isinstance(start, int)
            assert isinstance(content, bytes)
            data[start : start + len(content)] = content
        return bytes(data)

    return changed(disk, path, edit)


def cut(disk: MemoryDisk, path: str, length: int) -> MemoryDisk:
    """Return a copy of the disk with a file cut off."""
    return changed(disk, path, lambda data: bytes(data[:length]))


def write_out(disk: MemoryDisk, directory: Path) -> None:
    """Write the files of a simulated data directory to a real one."""
    for path in disk.files():
        target = directory / path.removeprefix("/data/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(disk.contents(path))
