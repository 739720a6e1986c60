"""A small store with damage in one place: what a server shows of it is what was acknowledged, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, offset_of, send, values
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL

SETTINGS: dict[str, Any] = {"kawal_vnodes": 2, "kawal_segment_bytes": 4_096, "kawal_min_free_bytes": 0}
SECTOR_BYTES = 512
End = Literal["stopped", "killed", "killed and started"]

Shown = dict[tuple[str, int], list[bytes] | str]
"""The records of every partition, or the error that a reader gets."""

Edit = Callable[[bytearray], bytes]


def made(end: End) -> tuple[MemoryDisk, Shown]:
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
    return gateway.disk.crash(KEEP_ALL), expected


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


def damages(disk: MemoryDisk) -> Iterator[tuple[str, Callable[[], MemoryDisk]]]:
    """Yield every damage state: each bit, each zeroed sector, each truncation, each missing file."""
    for path, size in written(disk):
        for position in range(size):
            for bit in range(8):
                place = f"bit {bit} of byte {position} of {path}"
                yield place, partial(_flipped, disk, path, position, bit)
        for start in range(0, size, SECTOR_BYTES):
            yield f"sector at {start} of {path}", partial(_zeroed, disk, path, start)
        for length in range(size):
            yield f"{path} cut at {length}", partial(_cut, disk, path, length)
        yield f"{path} is missing", partial(_without, disk, path)


def _without(disk: MemoryDisk, path: str) -> MemoryDisk:
    after = disk.crash(KEEP_ALL)
    after.remove(path)
    return after


def _flipped(disk: MemoryDisk, path: str, position: int, bit: int) -> MemoryDisk:
    def edit(data: bytearray) -> bytes:
        data[position] ^= 1 << bit
        return bytes(data)

    return changed(disk, path, edit)


def _zeroed(disk: MemoryDisk, path: str, start: int) -> MemoryDisk:
    def edit(data: bytearray) -> bytes:
        data[start : start + SECTOR_BYTES] = bytes(len(data[start : start + SECTOR_BYTES]))
        return bytes(data)

    return changed(disk, path, edit)


def _cut(disk: MemoryDisk, path: str, length: int) -> MemoryDisk:
    return changed(disk, path, lambda data: bytes(data[:length]))
