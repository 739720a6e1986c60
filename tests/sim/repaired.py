"""A damaged store after `kawal wal repair --accept-loss`: the server starts on it, and what it shows is true.

A record shown stands at its offset; partitions on other logs than the damaged one are whole, unless the
catalogue lost their topic: then their streams are kept without it.  Every partition takes records again.
"""

from __future__ import annotations

from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, fetch, offset_of, records_of, send
from tests.sim.damage import SETTINGS, Shown
from wal.errors import MetadataLost, StoreError
from wal.memory_disk import MemoryDisk
from wal.store_repair import repair_store

DELETED = "gone"
"""A topic whose deletion may be given up with a frame of the catalogue."""


def repaired(disk: MemoryDisk, expected: Shown, *, damaged: str) -> str:
    """Repair, start and look; return what came of it.  `damaged` is the path of the file that was changed.

    Raises: AssertionError when anything is shown that is not true, or the server does not start.
    """
    disk.locks.clear()
    try:
        for _ in repair_store(disk, "/data", now_ms=0, accept_loss=True):
            pass
    except StoreError:
        return "not repaired"  # the marker is lost, which only a backup has
    try:
        gateway = Gateway(disk, **SETTINGS)
    except MetadataLost as error:
        if "the catalogue is empty" in str(error) and "/meta/" in damaged and "changed places" in damaged:
            return "without a catalogue"  # none of its files was left; a backup has it
        raise
    client = gateway.client()
    kept = {orphan.stream_id for orphan in gateway.broker.topics.orphans}
    for (name, index), records in expected.items():
        assert isinstance(records, list)
        if name not in gateway.broker.catalogue.by_name:
            assert "/meta/" in damaged, f"{name} was lost"
            assert kept, f"{name} and its streams were lost"
            continue
        found = shown_by_offset(client, name, index)
        for offset, value in found.items():
            assert records[offset : offset + 1] == [value], f"{name}-{index} shows another record at {offset}"
        vnode = gateway.partition(name, index).vnode
        if f"/vnode-{vnode.index}/" not in damaged and "/meta/" not in damaged:
            assert len(found) == len(records), f"{name}-{index} on an undamaged log lost records"
        answer = send(client, name, batch(b"after"), partition=index)
        assert answer.error_code == 0, f"{name}-{index} takes no records: {vnode.log.damage}"
    return "repaired"


def shown_by_offset(client: Client, name: str, index: int) -> dict[int, bytes]:
    """Return all records of a partition, which may have gaps."""
    start, end = (offset_of(client, name, timestamp, index).offset for timestamp in (-2, -1))
    found: dict[int, bytes] = {}
    while start < end:
        answer = fetch(client, name, start, index)
        assert answer.error_code == 0, f"{name}-{index} cannot be read at {start}: error {answer.error_code}"
        records = list(records_of(answer.records))
        if not records:
            break
        found |= {record.offset: record.value or b"" for record in records}
        start = records[-1].offset + 1
    return found
